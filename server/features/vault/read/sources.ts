/** Reads the Markdown of a folder: documents, other files, and aliases. */
import type { PathProblem } from '../../../domain/format/path-problem.ts'
import type { Aliases } from '../../../markdown/link-resolver.ts'
import { folded, isMarkdown } from '../../../markdown/note-names.ts'
import { type Document, readDocument } from './document.ts'
import { type Folder, readListed, removedMeanwhile } from './folder.ts'

export interface Sources extends Folder {
  /** Problems so far. More may be added. */
  readonly problems: PathProblem[]
  /** Documents by path, in order. */
  readonly documents: ReadonlyMap<string, Document>
  /** Paths of files that are kept as bytes, in order. */
  readonly others: readonly string[]
  readonly aliases: Aliases
}

/**
 * Reads the Markdown files of a folder.
 *
 * @param maxBytes limit for all Markdown together; files beyond it are skipped
 * @param onRead called after each file that was read completely; may throw to end the reading
 */
export async function readSources(folder: Folder, maxBytes: number, onRead: () => void): Promise<Sources> {
  const problems: PathProblem[] = [...folder.problems]
  const lost: PathProblem[] = [...folder.lost]
  let total = 0
  const documents = new Map<string, Document>()
  const others: string[] = []
  const names = new Map<string, string[]>()
  const texts = readAhead(folder.dir, folder.files.filter(isMarkdown))
  for (const file of folder.files) {
    if (!isMarkdown(file)) {
      others.push(file)
      continue
    }
    const { value: bytes = removedMeanwhile } = await texts.next()
    const text = typeof bytes === 'string' ? undefined : decoded(bytes)
    if (typeof bytes === 'string') lost.push({ path: file, reason: bytes })
    else if (text !== undefined && total + bytes.length > maxBytes) lost.push({ path: file, reason: beyond(maxBytes) })
    else if (text !== undefined) {
      addDocument(file, readDocument(file, text))
      total += bytes.length
    } else {
      others.push(file)
      problems.push({ path: file, reason: 'not UTF-8: kept as an attachment' })
      continue
    }
    onRead()
  }
  return { ...folder, problems, lost, documents, others, aliases: { paths: folder.symlinks, names } }

  function addDocument(file: string, document: Document): void {
    documents.set(file, document)
    for (const reason of document.problems) problems.push({ path: file, reason })
    for (const alias of document.aliases) names.set(folded(alias), [...(names.get(folded(alias)) ?? []), file])
  }
}

/** Number of files read at a time, because reading one by one would mostly wait. */
const readAtOnce = 8

/** Reads files with readListed, in order. */
async function* readAhead(dir: string, files: readonly string[]): AsyncGenerator<Buffer | string, undefined> {
  const reads: Promise<Buffer | string>[] = []
  for (const file of files) {
    if (reads.length === readAtOnce) yield (await reads.shift()) ?? removedMeanwhile
    reads.push(readListed(dir, file))
  }
  for (const read of reads) yield await read
}

/** Returns the reason for skipping a file beyond the limit of an import. */
export function beyond(maxBytes: number): string {
  return `skipped: an import reads at most ${maxBytes / 1_048_576} MiB of this kind; import the folder in parts`
}

/** Decodes UTF-8; undefined if it is invalid. */
function decoded(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })
