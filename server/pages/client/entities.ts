/** In place of the package of this name, which brings a table of 24 KB: a browser has it. */

/** Of one reference that ends with `;`, as markdown-it hands it in; what is none stays. */
export function decodeHTMLStrict(text: string): string {
  const field = document.createElement('textarea') // its content is text alone
  field.innerHTML = text
  // Of `&copycat;` a browser reads the beginning.
  return field.value.endsWith(';') && text !== '&semi;' ? text : field.value
}
