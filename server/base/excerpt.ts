/** Shortens text from users, to quote it in a message. */

const mostLetters = 100

/** The first 100 characters, with an ellipsis if there are more. */
export function excerpt(text: string): string {
  if (text.length <= mostLetters) return text
  const letters = [...text.slice(0, 2 * mostLetters + 1)]
  return letters.length <= mostLetters ? text : `${letters.slice(0, mostLetters).join('')}…`
}
