// Shows on the page why a passkey was not used; without this, allauth's script writes it only to the console.
"use strict";

const SENTENCES = {
  NotAllowedError: "The passkey was not used: you cancelled, or it took too long. Try again.",
  InvalidStateError: "This passkey is already registered with your account.",
  SecurityError: "Passkeys don’t work at this address. They need HTTPS and a host name.",
};

document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  const note = document.getElementById("passkey-error");
  note.textContent = SENTENCES[event.detail.exception.name] || "The passkey could not be used. Try again.";
  note.hidden = false;
});
