/** Names of Markdown files: their endings, and which names are one. Runs in browsers, too: it imports nothing. */

export function isMarkdown(path: string): boolean {
  return markdownEnding.test(path)
}

export function withoutEnding(path: string): string {
  return path.replace(markdownEnding, '')
}

/** Names with the same folded form are one to a file system without case, and to Obsidian. */
export function folded(name: string): string {
  // Upper case first: ß and ss fold together only that way, as in gitstore/names.ts.
  return name.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')
}

/** In the order in which a link without an ending prefers them. */
export const markdownEndings = ['.md', '.mdx', '.markdown'] as const
const markdownEnding = /\.(md|mdx|markdown)$/i
