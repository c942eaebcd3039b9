/** Replaces the package `entities` and its 24 KB table, because browsers can decode references. */

/** Decodes one reference that ends with `;`. Returns other text unchanged. */
export function decodeHTMLStrict(text: string): string {
  const field = document.createElement('textarea') // its content is only text
  field.innerHTML = text
  // Browsers decode the beginning of `&copycat;`.
  return field.value.endsWith(';') && text !== '&semi;' ? text : field.value
}
