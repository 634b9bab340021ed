// Shows the description with Swagger UI. Requests go to the service that shows this
// page: the servers in the description are always production and staging.
"use strict";

const place = document.getElementById("swagger-ui");

fetch(place.dataset.description)
  .then((response) => response.json())
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
