/** Creates nodes with the earlier versions of their texts. Each is a commit of its author. */

import type { ObjectDraft } from '../../../../gitstore/objects/object-batch.ts'
import type { Oid } from '../../../../gitstore/repo.ts'
import type { OrgAccess } from '../../../domain/access.ts'
import type { Person } from '../../../domain/actor.ts'
import { nodeFile, textFile } from '../../../domain/format/paths.ts'
import { asJson, signature } from '../../../domain/format/signatures.ts'
import { withVia } from '../../../domain/format/trailers.ts'
import { buildTree, createNodeFrom } from '../../../domain/nodes/node-creation.ts'
import type { Ctx } from '../../../domain/services.ts'
import { trailerOf } from '../../../domain/via.ts'
import type { PlannedNode } from '../plan/plan.ts'
import { readFrontMatter } from '../read/front-matter.ts'
import { type FileVersion, type GitHistory, historyLimits, readVersion } from '../read/git-history.ts'

/**
 * Creates a node whose main has a commit for each version of its file. Returns their number.
 *
 * The commits have only a title and the text, without front matter. The import then commits everything else. Author,
 * message and dates are those of the source, and the user of the import is the committer.
 *
 * @throws the errors of createNodeFrom and readVersion
 */
export async function createWithHistory(
  ctx: Ctx<Person>,
  access: Pick<OrgAccess, 'org'>,
  { id, path, title }: Pick<PlannedNode, 'id' | 'path' | 'title'>,
  history: GitHistory,
): Promise<number> {
  const known = history.versions.get(path) ?? []
  const versions = await textsOf(known, history)
  if (versions.length === 0) return 0
  await createNodeFrom(ctx, access, {
    ...{ id, title, hasParents: false, message: '' },
    commits: (draft) => commitAll(draft, { actor: ctx.actor, title, trailer: trailerOf(ctx, ctx.actor) }, versions),
    locate: (file) => [file],
  })
  return versions.length
}

interface Importing {
  readonly actor: Person
  readonly title: string
  /** The value of the trailer that each commit without one gets. */
  readonly trailer: string | undefined
}

/** Builds the commits, oldest first. Returns the last one. */
async function commitAll(
  draft: ObjectDraft,
  { actor, title, trailer }: Importing,
  versions: readonly Version[],
): Promise<{ readonly tree: Oid; readonly head: Oid }> {
  const named = asJson({ title })
  let last = { tree: '', head: '' }
  for (const { author, authoredAt, committedAt, message, text } of versions) {
    const files = new Map([[nodeFile, named], ...(text === '' ? [] : [[textFile, Buffer.from(text)] as const])])
    const tree = await buildTree(draft, null, files)
    const head = await draft.commit({
      ...{ tree, message: withVia(message, trailer), parents: last.head === '' ? [] : [last.head] },
      author: signature(author, new Date(authoredAt * 1_000)),
      committer: signature(actor, new Date(committedAt * 1_000)),
    })
    last = { tree, head }
  }
  return last
}

type Version = FileVersion & { readonly text: string }

/** Reads the texts of the versions, the newest first, up to a limit. Returns them oldest first. */
async function textsOf(versions: readonly FileVersion[], history: GitHistory): Promise<Version[]> {
  const read: { version: FileVersion; text: string | undefined }[] = []
  let units = 0
  for (const version of versions) {
    const whole = version.blob === undefined ? '' : await readVersion(history, version.blob)
    const text = whole === undefined ? undefined : readFrontMatter(whole).body
    units += text?.length ?? 0
    if (units > historyLimits.textOfFile) break
    read.push({ version, text })
  }
  let before = ''
  return read.reverse().map(({ version, text = before }) => {
    before = text
    return { ...version, text }
  })
}
