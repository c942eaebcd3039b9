/** Two versions of a page, compared directly: who, when, how far apart, and what differs. */

import type { Api } from '../../../spec/client/api.ts'
import { AppError, ValidationError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { Page, PageContext } from '../page-context.ts'
import { CompareForm, longestRevision } from '../parts/compare-form.tsx'
import { Distance, type Side, VersionCards } from '../parts/compared.tsx'
import { plural } from '../parts/dates.tsx'
import { type EdgeChange, Impact, readImpact } from '../parts/impact.tsx'
import { type AtNode, NodePath, readAtNode } from '../parts/node-head.tsx'
import { findOnMain } from '../parts/restore-link.tsx'
import { mayWrite } from '../parts/rights.ts'
import { type FileChange, FileDiffs, isEdge, readFileChanges } from '../text/diff.tsx'

type Comparison = AnswerOf<'compareCommits'>

export async function showCompare(visit: PageContext): Promise<Page> {
  const { api, urls, query } = visit
  const at = await readAtNode(visit)
  const { org, node } = at
  const named = (side: 'from' | 'to') => (query.get(side) ?? '').trim()
  const to = named('to') || (named('from') === '' ? '' : 'main')
  const sides = await Promise.all([readSide(api, at, named('from')), readSide(api, at, to)])
  const [older, newer] = sides
  const found = await compareSides(api, at, older, newer)
  const edges = typeof found === 'object' ? await readImpact(api, at.path, found.changes) : []
  let files: readonly FileChange[] = []
  return {
    kind: 'page',
    status: sides.some(({ says }) => says !== undefined) ? 404 : 200,
    head: { title: `Compare versions of ${node.title} · ${org.name}`, noIndex: true },
    place: { org, crumb: node.title },
    // The changes between two commits never change, so the ETag does not need them.
    facts: { at, sides, edges, found: typeof found === 'object' ? { ...found, changes: undefined } : found },
    prepare: async () => {
      if (typeof found === 'object') files = await readFileChanges(api, at.path, found.changes)
    },
    body: () => (
      <main id="main" class="wide compare">
        <NodePath visit={visit} at={at} between={[{ title: 'History', href: urls.history(org.id, node.id) }]} />
        <h1>Compare versions</h1>
        <CompareForm {...{ urls, org: org.id, node: node.id, older, newer }} />
        {found === 'too large' && <p class="problem">Too many files differ to show them here.</p>}
        {typeof found === 'object' && (
          <>
            <VersionCards {...{ urls, org: org.id, node: node.id, sides }} />
            <Distance found={found} differs={entitiesOf(found).length > 0} />
            <Differences {...{ visit, at, found, edges, files }} />
          </>
        )}
      </main>
    ),
  }
}

/** Reads the newest commit of a branch or tag, or the commit of an id. Seven characters of an id are enough on main. */
async function readSide(api: Api, at: AtNode, name: string): Promise<Side> {
  if (name === '') return { name }
  const commit =
    (await unlessUnknown(newestOf(api, at, name))) ??
    (/^[0-9a-f]{7,39}$/.test(name) ? await unlessUnknown(findOnMain(api, at, name)) : undefined)
  if (commit === undefined) {
    const shown = name.length > longestRevision ? `${name.slice(0, longestRevision)}…` : name
    return { name: shown, says: `This page has no branch, tag or commit “${shown}”. Choose a version in its history.` }
  }
  const { node, org, path } = at
  const isRestorable =
    commit.id !== node.head && mayWrite(org.role) && (await findOnMain(api, { path, node }, commit.id)) !== undefined
  const { id, message, author, created_at } = commit
  return { name, isRestorable, commit: { id, message, author, created_at } }
}

async function newestOf(api: Api, { path }: AtNode, branch: string): Promise<Side['commit']> {
  return (await api.listCommits({ path: { ...path, branch }, query: { limit: 1 } })).history[0]
}

/** Returns undefined if the name is unknown, invalid or ambiguous. */
async function unlessUnknown<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    const isUnknown = error instanceof AppError && ['branch_not_found', 'commit_not_found'].includes(error.code)
    if (isUnknown || error instanceof ValidationError) return undefined
    throw error
  }
}

async function compareSides(
  api: Api,
  { path }: AtNode,
  { commit: base }: Side,
  { commit: head }: Side,
): Promise<Comparison | 'too large' | undefined> {
  if (base === undefined || head === undefined) return undefined
  try {
    return await api.compareCommits({ path, query: { base: base.id, head: head.id, direct: 'true' } })
  } catch (error) {
    if (error instanceof AppError && error.code === 'too_large') return 'too large'
    throw error
  }
}

function entitiesOf({ changes: { added, removed, modified } }: Comparison) {
  return [...added, ...removed, ...modified]
}

interface DifferencesProps {
  readonly visit: PageContext
  readonly at: AtNode
  readonly found: Comparison
  readonly edges: readonly EdgeChange[]
  readonly files: readonly FileChange[]
}

function Differences({ visit: { urls }, at: { org, node }, found, edges, files }: DifferencesProps) {
  const total = entitiesOf(found).filter(({ entity_key }) => !isEdge(entity_key ?? '')).length
  return (
    <>
      {edges.length > 0 && <Impact urls={urls} org={org.id} title={node.title} edges={edges} />}
      <FileDiffs files={files} />
      {total > files.length && <p class="why">and {plural(total - files.length, 'more file')}</p>}
    </>
  )
}
