/** Names of Markdown files: their endings, and which are equal. Also runs in browsers, so it imports nothing. */

export function isMarkdown(path: string): boolean {
  return markdownEnding.test(path)
}

export function withoutEnding(path: string): string {
  return path.replace(markdownEnding, '')
}

/** Folds case. A case-insensitive file system and Obsidian treat names with the same folded form as equal. */
export function folded(name: string): string {
  // Upper case first: ß and ss fold together only that way, as in gitstore/names.ts.
  return name.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')
}

/**
 * Returns spellings of a name, for an index that ignores only ASCII case. Other letters are in lower case or in capitals,
 * or only the first ones of the title or of each word are capitals.
 */
export function spellingsOf(name: string): string[] {
  const small = folded(name)
  const words = small.replace(/(?<=^|[\s(-])\p{Ll}/gu, (letter) => letter.toUpperCase())
  const first = small.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase())
  const cased = [name, small, name.toUpperCase(), words, first]
  const forms = cased.flatMap((one) => [one, one.normalize('NFC'), one.normalize('NFD')])
  return [...new Set(forms.map((one) => one.replace(/[A-Z]/g, (letter) => letter.toLowerCase())))]
}

/** Endings of Markdown files, in the order that a link without an ending prefers. */
export const markdownEndings = ['.md', '.mdx', '.markdown'] as const
const markdownEnding = /\.(md|mdx|markdown)$/i
