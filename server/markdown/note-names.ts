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

/** Endings of Markdown files, in the order that a link without an ending prefers. */
export const markdownEndings = ['.md', '.mdx', '.markdown'] as const
const markdownEnding = /\.(md|mdx|markdown)$/i
