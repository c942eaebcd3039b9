/** Attaches files that are pasted or dropped into a text, as `files/<name>` with a link. */

import type { Attachment } from '../edits.ts'
import { freePath } from '../text/attached-names.ts'

/** Maximum bytes of one file, and of all files of a commit. A request may have 16 MiB, and base64 adds a third. */
const most = { file: 10 * 1_048_576, all: 11 * 1_048_576 } as const

interface Attached {
  readonly problem?: string
  readonly attachment?: Attachment
  /** The Markdown to insert. */
  readonly link: string
}

export async function attachFile(file: File, others: readonly Attachment[]): Promise<Attached> {
  const name = file.name || 'file'
  const size = others.reduce((sum, { content }) => sum + content.length * 0.75, file.size)
  if (file.size > most.file) return { problem: `${name} is larger than 10 MiB. Push it with Git instead.`, link: '' }
  if (size > most.all)
    return { problem: `${name} does not fit into this commit. Save first, then attach it.`, link: '' }
  const path = freePath(name, new Set(others.map((other) => other.path)))
  const mark = file.type.startsWith('image/') ? '!' : ''
  try {
    return { attachment: { path, content: await asBase64(file) }, link: `${mark}[${labelOf(name)}](${path})` }
  } catch {
    return { problem: `${name} could not be read.`, link: '' }
  }
}

function labelOf(name: string): string {
  return name.replace(/[[\]\\\r\n]/g, ' ').trim()
}

async function asBase64(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let binary = ''
  // The number of arguments of one call is limited.
  for (let from = 0; from < bytes.length; from += 32_768)
    binary += String.fromCharCode(...bytes.subarray(from, from + 32_768))
  return btoa(binary)
}
