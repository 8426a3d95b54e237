"use strict";
// What the pages that are served to this machine have in common: the token, the server, elements.

// Behind the # of the address that the command printed: no browser sends that part anywhere.
const token = location.hash.slice(1);
const by = (id) => document.getElementById(id);

// The answer to a question; `gone` is said if nobody answers any more. An error has the HTTP status.
async function answered(question, draft, gone) {
  let response;
  try {
    response = await fetch(`api/${question}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Token": token },
      body: JSON.stringify(draft),
    });
  } catch {
    throw new Error(gone);
  }
  const answer = await response.json();
  if (response.ok) return answer;
  throw Object.assign(new Error(answer.error), { status: response.status });
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}
