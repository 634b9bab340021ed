// Shows the description with Swagger UI. What is tried out goes to the service that shows this
// page: the description's own servers are production and staging, wherever it is read.
"use strict";

const place = document.getElementById("swagger-ui");

fetch(place.dataset.description)
  .then((answer) => answer.json())
  .then((description) => {
    description.servers = [{ url: `${location.origin}/v1`, description: "This server" }];
    SwaggerUIBundle({
      spec: description,
      domNode: place,
      deepLinking: true,
      persistAuthorization: false,
      validatorUrl: null,
      docExpansion: "list",
      displayRequestDuration: true,
    });
  })
  .catch(() => {
    place.textContent = "The description could not be loaded. Reload the page to try again.";
  });
