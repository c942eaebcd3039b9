/** The tool that reads a node: facts, text or another file, and links. */

import { z } from 'zod'
import type { Output } from '../../../spec/client/api.ts'
import { answer, facts, list, type Section, textPart } from '../answer.ts'
import { asItem, brief, own } from '../quoted.ts'
import { factsOf, ToolError } from '../refusals.ts'
import { nodePage, type Session, sourceOf } from '../session.ts'
import { branch, maxChars, nodeId, orgId, tool } from '../tool.ts'

const text = 'content.md'
const links = 60
const files = 50
const typeProblems = 20
/** UTF-16 units of a text that are searched for headings. */
const headedChars = 1_048_576
const shownTitle = 500
const briefTitle = 100
const shownTarget = 300
const propertiesChars = 1_000
/** Share of an answer for headings or links, next to the text. */
const listShare = 0.2
/** Schemes of targets that are shown. Opening a target of another scheme may run or reveal something. */
const openable = /^(?:https?:|mailto:|\/\/)/i

export const readNode = tool({
  name: 'read_node',
  title: 'Read a node',
  description:
    'Reads a node: title, tags, properties, its text with unchanged line endings, the targets of its links, and its files. For a long text, headings come first, each with the value of `from` that starts reading there. Cite the node by its source, which names the commit. `path` reads another file of the node.',
  access: 'read',
  operations: ['getNode', 'listLinks', 'listEntities', 'getFile'],
  input: z.strictObject({
    org_id: orgId,
    node_id: nodeId,
    branch: branch.optional(),
    path: z.string().min(1).max(1_024).optional().describe('A file of the node. Default: its text, content.md'),
    from: z.int().min(0).max(100_000_000).default(0).describe('Number of characters of the text to skip'),
    max_chars: maxChars,
  }),
  run: async (session, { org_id, node_id, branch, path, from, max_chars }) => {
    const read = await reading(session, { org_id, node_id, revision: branch ?? 'main', path: path ?? text })
    const { content, commit } = read
    if (from > 0 && from >= content.length)
      throw new ToolError(422, 'invalid', `from is beyond the end of the text, which has ${content.length} characters`)
    const source = sourceOf(org_id, node_id, commit)
    const lead = [
      `${own`Node ${node_id} of organisation ${org_id}`}${commit === undefined ? ' (no commits)' : own` at commit ${commit}`}.`,
      own`Source: ${source}`,
      own`Page: ${nodePage(session, org_id, node_id)}`,
      ...((branch ?? 'main') === 'main' ? [] : ['Title, tags, properties and counts are from main.']),
      ...(read.links.truncated ? ['Not all links of the text are listed.'] : []),
    ]
    const rest = textPart({ of: 'the text', source, text: content, from })
    return answer(max_chars, lead, [
      ...(from === 0 ? before(read, max_chars) : []),
      ...(content === '' ? [] : [rest]),
      ...(from === 0 && path === undefined ? filesOf(read) : []),
    ])
  },
})

type Entities = Output<'listEntities'>
type Links = Output<'listLinks'>

interface At {
  readonly org_id: string
  readonly node_id: string
  readonly revision: string
  readonly path: string
}

interface Reading {
  readonly node: Output<'getNode'>
  readonly commit: string | undefined
  /** The file, unchanged. */
  readonly content: string
  readonly isText: boolean
  readonly links: Links
  readonly entities: Entities | undefined
}

async function reading(session: Session, { org_id, node_id, revision, path }: At): Promise<Reading> {
  const { api } = session
  const at = { org_id, node_id }
  const isText = path === text
  const noLinks: Links = { node_id, links: [], truncated: false }
  /** Returns `other` if the call is refused with this status. A node without commits has no main to list. */
  const unless = <T>(asked: Promise<T>, status: number, other: T): Promise<T> =>
    asked.catch((error: unknown) => {
      if (factsOf(session, error).status !== status || (status === 404 && revision !== 'main')) throw error
      return other
    })
  const listLinks = () =>
    api.listLinks({ path: at, query: { revision } }).catch((error: unknown) => {
      // The text is worth showing without its links.
      if (!['too_large', 'busy'].includes(factsOf(session, error).code)) throw error
      return { ...noLinks, truncated: true }
    })
  const [node, entities, found] = await Promise.all([
    api.getNode({ path: at }),
    unless<Entities | undefined>(
      api.listEntities({ path: { ...at, branch: revision }, query: { limit: 200 } }),
      404,
      undefined,
    ),
    isText ? unless(listLinks(), 404, noLinks) : noLinks,
  ])
  if (isText && revision === 'main') {
    return { node, commit: node.head, content: node.text_content, isText, links: found, entities }
  }
  const file = await api.getFile({ path: { ...at, branch: revision, path } }).catch((error: unknown) => {
    if (!isText || factsOf(session, error).code !== 'file_not_found') throw error
    return undefined
  })
  if (file?.encoding === 'base64')
    throw new ToolError(422, 'not_a_text', own`The file has ${file.size} bytes and is not UTF-8 text`)
  const commit = file?.commit_id ?? entities?.commit_id
  return { node, commit, content: file?.content ?? '', isText, links: found, entities }
}

function before({ node, content, isText, links: found }: Reading, chars: number): Section[] {
  const { title, tags, properties, created_at, updated_at, num_parents, num_children, num_connections } = node
  const type = node.type ?? undefined
  const said = JSON.stringify(properties)
  const counts = { parents: num_parents, children: num_children, connections: num_connections }
  const times = { created_at, updated_at }
  const whole = said.length > propertiesChars ? 'too long: read the path node.json' : properties
  const known = facts('node', [
    asItem({ title: brief(title, shownTitle), type, tags, properties: whole, ...times, ...counts }),
    asItem({
      title: brief(title, shownTitle),
      type,
      tags: `${tags.length} tags: read the path node.json`,
      ...times,
      ...counts,
    }),
    asItem({ title: brief(title, briefTitle), ...counts }),
  ])
  const broken = problemsOf(node)
  if (!isText) return [known, ...broken]
  const headings = content.length > chars / 2 ? headingsOf(content.slice(0, headedChars)) : []
  const items = found.links.slice(0, links).map(linkItem)
  const more = 'read the text for the rest'
  return [
    known,
    ...broken,
    ...(headings.length === 0
      ? []
      : [list({ of: 'headings', items: headings, share: listShare, rest: () => 'read the text for the rest' })]),
    ...(items.length === 0
      ? []
      : [list({ of: 'links', items, total: found.links.length, share: listShare, rest: () => more })]),
  ]
}

/** Lists the rules of its type that the node breaks. An earlier service does not send them. */
function problemsOf({ type_problems: problems = [] }: Partial<Output<'getNode'>>): Section[] {
  const items = problems
    .slice(0, typeProblems)
    .map(({ place, msg }) => asItem({ place, problem: brief(msg, shownTarget) }))
  if (items.length === 0) return []
  return [list({ of: 'problems', items, total: problems.length, share: listShare, rest: () => 'mend these first' })]
}

function linkItem({ line, text, target, kind, node, file, reason }: Output<'listLinks'>['links'][number]): string {
  const said = { line, text: brief(text, 100) || undefined }
  if (node !== undefined)
    return asItem({ ...said, node: node.id, title: brief(node.title, 100), heading: node.heading })
  if (file !== undefined) return asItem({ ...said, file: brief(file.path, shownTarget), exists: file.exists })
  if (kind !== 'outside') return asItem({ ...said, leads: 'nowhere', target: brief(target, shownTarget), reason })
  if (openable.test(target)) return asItem({ ...said, outside: brief(target, shownTarget) })
  return asItem({ ...said, outside: 'not shown: unsafe scheme', scheme: /^[\w+.-]{1,20}(?=:)/.exec(target)?.[0] })
}

/** Lists ATX headings outside of code, with their offsets in the text. */
function headingsOf(text: string): string[] {
  const items: string[] = []
  let fence: string | undefined
  let from = 0
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark !== undefined && (fence === undefined || mark.startsWith(fence)))
      fence = fence === undefined ? mark : undefined
    else if (fence === undefined && /^ {0,3}#{1,6}\s/.test(line))
      items.push(asItem({ from, heading: brief(line.trim(), 120) }))
    from += line.length + 1
  }
  return items
}

/** Lists the node's files, in addition to its text and its edges. */
function filesOf({ entities }: Reading): Section[] {
  if (entities === undefined) return []
  const others = entities.entities.filter(({ entity_type }) => entity_type === 'file')
  const items = others.slice(0, files).map(({ entity_key }) => asItem({ path: brief(entity_key, shownTarget) }))
  const beyond = entities.total - entities.entities.length
  return items.length === 0 ? [] : [list({ of: 'files', items, total: others.length + beyond })]
}
