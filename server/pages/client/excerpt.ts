/** The first words of a text, for scripts that show a node in small. */

import { roughHead, roughLinks } from '../../markdown/rough-grammar.ts'

/** Characters of a text that are looked at. */
const mostRead = 4_000

/** Without headings and the marks that stand most often. `most`: characters. */
export function excerpt(text: string, most: number): string {
  const words = text
    .slice(0, mostRead)
    .replace(roughHead, '')
    .replace(/^(#|```|\|).*$/gm, '')
    .replace(roughLinks, '$2$3')
    .replace(/[*_`>]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
  return words.length > most ? `${words.slice(0, most).trimEnd()}…` : words
}
