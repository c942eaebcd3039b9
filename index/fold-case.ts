/** The comparison of texts without case. */

/** Folds case. Upper case comes first, because only then `ß` and `ss` become equal. */
export function foldCase(text: string): string {
  return text.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')
}
