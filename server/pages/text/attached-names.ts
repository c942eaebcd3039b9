/** Names of files that users attach. The script of the editor and the settings of a node share them. */

/** Maximum characters of a name. */
export const longestName = 100

/** Returns a free path that needs no escaping in Markdown. Adds the time to pasted pictures, all called image.png. */
export function freePath(name: string, taken: ReadonlySet<string>): string {
  const plain = name.normalize('NFC').replace(/[^\p{L}\p{M}\p{N}._-]+/gu, '-')
  const trimmed = (/^\.\w+$/.test(plain) ? `file${plain}` : plain).replace(/^[.-]+/, '') || 'file'
  const [, base = trimmed, ending = ''] = /^(.+?)(\.[\w]{1,10})?$/u.exec(trimmed) ?? []
  const stem = base.slice(0, longestName)
  const dated = stem === 'image' ? `image-${new Date().toISOString().slice(0, 19).replace(/\D/g, '')}` : stem
  for (let count = 1; ; count++) {
    const path = `files/${dated}${count === 1 ? '' : `-${count}`}${ending}`
    if (!taken.has(path)) return path
  }
}
