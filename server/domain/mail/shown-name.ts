/** Names that users chose, in mails. */
import { stripControls } from '../format/text-rules.ts'

/** The most characters of a name in a mail. */
const longestName = 64

/**
 * Returns a name that users chose, safe in a mail. Mail programs make links of URLs and addresses in text. A mail must
 * have only its own link.
 */
export function shownName(name: string): string {
  const plain = stripControls(name.normalize('NFC'))
    .replace(/[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, '')
    .replace(/[<>@]|:?\/\//g, ' ')
    .replace(/\.(?=\S)/g, '. ')
    .replace(/\s+/g, ' ')
    .trim()
  const letters = [...plain]
  return letters.length > longestName ? `${letters.slice(0, longestName - 1).join('')}…` : plain
}
