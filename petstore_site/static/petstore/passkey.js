// Says on the page why a passkey was not used; without this allauth's script tells it to the console alone.
"use strict";

const SENTENCES = {
  NotAllowedError: "The passkey was not used: it was cancelled, or took too long. Try again.",
  InvalidStateError: "This passkey belongs to your account already.",
  SecurityError: "Passkeys do not work at this address. They need https, and a host name.",
};

document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  const trouble = document.getElementById("passkey-trouble");
  trouble.textContent = SENTENCES[event.detail.exception.name] || "The passkey could not be used. Try again.";
  trouble.hidden = false;
});
