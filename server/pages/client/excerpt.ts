/** The first words of a text, for scripts that preview a node. */

import { aroundFormulas, roughHead, roughLinks, roughMarks } from '../../markdown/rough-grammar.ts'

/** Maximum characters of a text that are read. */
const mostRead = 4_000

/** Returns the first words without headings and the most common markup. `most`: characters. */
export function excerpt(text: string, most: number): string {
  const words = text
    .slice(0, mostRead)
    .replace(roughHead, '')
    .replace(/^(#|```|\|).*$/gm, '')
    .replace(roughLinks, '$2$3')
  const shown = aroundFormulas(words, (part) => part.replace(roughMarks, '').replace(/[*_`>]/g, ''))
    .replace(/\s+/g, ' ')
    .trim()
  return shown.length > most ? `${shown.slice(0, most).trimEnd()}…` : shown
}
