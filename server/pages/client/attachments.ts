/** Attaches files that are pasted or dropped into a text, as `files/<name>` with a link. */

import * as limits from '../../base/limits.ts'
import type { Attachment } from '../edits.ts'
import { freePath, longestName } from '../text/attached-names.ts'

/** A file that is sent with the next save. */
export interface Attached extends Attachment {
  readonly file: File
  /** The Markdown that links to it. */
  readonly link: string
}

/** Reads a file. Returns a sentence if it cannot be attached. */
export async function attachFile(file: File, others: readonly Attached[]): Promise<Attached | string> {
  const name = labelOf(file.name || 'file') || 'file'
  const size = others.reduce((sum, other) => sum + other.file.size, file.size)
  if (file.size > limits.pageFileBytes) return `${name} is larger than 10 MB. Larger files can be pushed with git.`
  if (size > limits.pageFilesBytes) return `${name} does not fit into this commit. Save first, then attach it.`
  const path = freePath(file.name || 'file', new Set(others.map((other) => other.path)))
  const mark = file.type.startsWith('image/') ? '!' : ''
  try {
    return { file, path, content: await asBase64(file), link: `${mark}[${name}](${path})` }
  } catch {
    return `${name} could not be read. Check that it is a file, and attach it again.`
  }
}

/** Lists the files. `remove` takes one out again. */
export function listFiles(
  place: HTMLElement,
  files: Iterable<Attached>,
  { text, remove }: { readonly text: string; remove(file: Attached): void },
): void {
  const list = document.createElement('ul')
  for (const one of files) list.append(itemOf(one, text.includes(one.path), () => remove(one)))
  const title = document.createElement('h2')
  title.textContent = 'Files to upload'
  place.replaceChildren(title, list)
  place.hidden = list.children.length === 0
}

function itemOf({ path, file }: Attached, isUsed: boolean, remove: () => void): HTMLElement {
  const item = document.createElement('li')
  const name = document.createElement('span')
  name.className = 'name'
  name.textContent = path.replace(/^files\//, '')
  const size = document.createElement('span')
  size.className = 'why'
  size.textContent = isUsed ? sizeOf(file.size) : 'Not in the text, so it will not be uploaded.'
  const button = document.createElement('button')
  Object.assign(button, { type: 'button', className: 'btn small', textContent: 'Remove' })
  button.ariaLabel = `Remove ${name.textContent}`
  button.addEventListener('click', remove)
  item.append(name, size, button)
  return item
}

function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** Returns the name without characters that Markdown or HTML reads, or that are not shown. */
function labelOf(name: string): string {
  return name
    .replace(/[[\]\\<>`$|\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, 2 * longestName)
}

async function asBase64(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let binary = ''
  // The number of arguments of one call is limited.
  for (let from = 0; from < bytes.length; from += 32_768)
    binary += String.fromCharCode(...bytes.subarray(from, from + 32_768))
  return btoa(binary)
}
