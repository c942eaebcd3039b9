/** Builds the API calls for an edit. The form of the page and its script share it. */

import type { Api, Input, Output } from '../../spec/client/api.ts'
import { connectionId, hexDigest, keyOfName, slugIn, slugOf } from '../markdown/connection-ids.ts'
import { folded } from '../markdown/note-names.ts'
import { namesBegun } from '../markdown/wikilinks.ts'

export interface NodePath {
  readonly org_id: string
  readonly node_id: string
}

/** A file that is committed with the text. */
export interface Attachment {
  readonly path: string
  /** Base64. */
  readonly content: string
}

/** A node when the edit began. */
export interface Source {
  /** The commit; null before the first one. */
  readonly head: string | null
  readonly title: string
  readonly text: string
  /** The path of the file with the text. */
  readonly textPath: string
}

export interface Edit {
  readonly title: string
  readonly text: string
  /** The commit message. If it is blank, one is generated. */
  readonly message: string
  readonly files: readonly Attachment[]
}

export interface NewNode extends Edit {
  /** Chosen by the client, so that a repeated request does not create a second node. */
  readonly id: string
  readonly parent: string | undefined
  /** The node whose text links to it. */
  readonly from: string | undefined
  /** The name in that link; undefined: the title. */
  readonly named?: string | undefined
}

type Changes = Input<'createCommit'>['body']['changes']

/** `names`: links of a text that are resolved, the last ones. `letters`: letters at the end of a branch name. */
const most = { names: 20, letters: 8 } as const
/** Maximum length in characters of a node's or a proposal's title. */
export const longestTitle = 500

/** Makes one commit on main. @throws head_moved, no_changes, pull_request_required and other errors of createCommit */
export async function saveEdit(api: Api, path: NodePath, source: Source, edit: Edit): Promise<void> {
  const changes = await changesOf(api, path, source, edit)
  const body = { message: messageOf(edit), changes, expected_head: source.head }
  await api.createCommit({ path: { ...path, branch: 'main' }, body })
}

/**
 * Commits an edit to a new branch and opens a proposal. The branch starts where the edit began, so that the commit cannot
 * conflict. Its name follows from the edit, so a form that is sent twice opens one proposal. The branch is deleted again
 * if a later step is refused.
 *
 * @param source with `branches`, the beginning of its name, if the user may change only their own branches
 * @returns the number of the proposal
 */
export async function proposeEdit(
  api: Api,
  path: NodePath,
  source: Source & { readonly head: string; readonly slug: string; readonly branches?: string | undefined },
  edit: Edit,
): Promise<number> {
  const { head: from, branches = '', slug } = source
  const changes = await changesOf(api, path, source, edit)
  const branch = `${branches}proposals/${slug || 'node'}-${lettersOf(from, edit)}`
  const isNew = await unless('branch_exists', api.createBranch({ path, body: { name: branch, from } }))
  try {
    const message = messageOf(edit)
    const commit = api.createCommit({ path: { ...path, branch }, body: { message, changes, expected_head: from } })
    // If the branch has moved, the same edit was sent twice, and the other request has committed it.
    await unless('head_moved', commit)
    const [title = '', ...lines] = message.split('\n')
    const description = lines.join('\n').trim()
    const { pr } = await api.openPull({
      path,
      body: { source_branch: branch, title: title.trim().slice(0, longestTitle), description },
    })
    return pr.number
  } catch (error) {
    if (codeOf(error) === 'pull_request_exists') return numberIn(error)
    if (isNew) await deleteUnused(api, path, { branch, from })
    throw error
  }
}

/** Deletes the branch if it is still where it began. Otherwise another request has committed to it. */
async function deleteUnused(
  api: Api,
  path: NodePath,
  { branch, from }: { readonly branch: string; readonly from: string },
): Promise<void> {
  const at = { path: { ...path, branch } }
  const head = await api.getBranch(at).then(
    (found) => found.head,
    () => undefined,
  )
  if (head === from) await api.deleteBranch(at).catch(() => undefined)
}

/** Returns true if the call succeeds, and false if it is refused with this code. @throws its other errors */
async function unless(code: string, called: Promise<unknown>): Promise<boolean> {
  try {
    await called
    return true
  } catch (error) {
    if (codeOf(error) === code) return false
    throw error
  }
}

/** Creates a node with the connections of its links. @throws node_exists: created before, and changed since */
export async function createNode(
  api: Api,
  org_id: string,
  { id, parent, from, named, ...edit }: NewNode,
): Promise<void> {
  const connections = await newConnections(api, { org_id, node_id: id }, edit.text, [])
  const node = {
    ...{ id, title: edit.title, text_content: edit.text },
    ...(parent === undefined ? {} : { parents: [parent] }),
    ...(edit.message.trim() === '' ? {} : { message: edit.message.trim() }),
    connections,
    files: edit.files.map((file) => ({ ...file, encoding: 'base64' as const })),
  }
  await api.createNodes({ path: { org_id }, body: { nodes: [node] } }).catch((error: unknown) => {
    if (codeOf(error) !== 'node_exists') throw error
    return completeNode(api, { org_id, node_id: id }, edit, error)
  })
  // If main changes only by proposals, the next proposal of that text creates the connection.
  if (from !== undefined)
    await connectLink(api, { org_id, node_id: from }, named ?? edit.title, id).catch(() => undefined)
}

/** Adds the connection of a link with this name. @throws pull_request_required and other errors of addConnection */
export async function connectLink(api: Api, path: NodePath, name: string, target: string): Promise<void> {
  await api.addConnection({ path, body: connectionOf({ name, type: 'links_to' }, target) }).catch((error: unknown) => {
    if (codeOf(error) !== 'connection_exists') throw error
  })
}

/** Saves the latest text of a node whose creation succeeded although its response was lost. */
async function completeNode(api: Api, path: NodePath, edit: Edit, error: unknown): Promise<void> {
  const { title, text_content: text, head = null, created_at, updated_at } = await api.getNode({ path })
  if (title === edit.title && text === edit.text) return
  if (created_at !== updated_at) throw error
  await saveEdit(api, path, { head, title, text, textPath: 'content.md' }, edit)
}

async function changesOf(api: Api, path: NodePath, source: Source, edit: Edit): Promise<Changes> {
  const { head, title, text, textPath } = source
  const connections = head === null ? [] : await newConnections(api, path, edit.text, await connectionsOf(api, path))
  const put = (at: string, content: string) => ({ action: 'put', path: at, content }) as const
  return [
    // If nothing differs, the text is sent anyway, so that the service answers no_changes.
    ...(edit.text === text && edit.title !== title ? [] : [put(textPath, edit.text)]),
    ...(edit.title === title && head !== null ? [] : [put('node.json', await nodeJson(api, path, head, edit.title))]),
    ...connections.map(({ id, ...connection }) => put(`connections/${id}.json`, asJson(connection))),
    ...edit.files.map((file) => ({ action: 'put', ...file, encoding: 'base64' }) as const),
  ]
}

/** Returns node.json with this title and its other fields unchanged. */
async function nodeJson(api: Api, path: NodePath, head: string | null, title: string): Promise<string> {
  if (head === null) return asJson({ title })
  const json = await api.getFile({ path: { ...path, branch: head, path: 'node.json' } }).catch((error: unknown) => {
    if (codeOf(error) === 'file_not_found') return { content: '{}' }
    throw error
  })
  try {
    return asJson({ ...JSON.parse(json.content), title })
  } catch {
    return asJson({ title })
  }
}

/** Returns the code of an API error, in process or over HTTP. */
function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

/** Returns the number of the proposal that an API error names. The error comes in process or over HTTP. */
function numberIn(error: unknown): number {
  const { facts, problem } = error as { facts?: { number?: unknown }; problem?: { number?: unknown } }
  return Number((facts ?? problem)?.number)
}

function asJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

type Connection = Output<'getNode'>['connections'][number]

/** Returns the outgoing connections of the node. */
async function connectionsOf(api: Api, path: NodePath): Promise<readonly Connection[]> {
  const { connections } = await api.getNode({ path })
  return connections.filter(({ source }) => source === path.node_id)
}

/**
 * Returns connections for links by title that `held` does not cover yet. Each connection stores the name of its link, so the
 * link still works after the node is renamed.
 */
async function newConnections(api: Api, path: NodePath, text: string, held: readonly Connection[]) {
  const links = namedLinks(text).filter((link) => !held.some((one) => isOf(one, link)))
  const found = await Promise.all(
    links.slice(-most.names).map(async (link) => {
      const target = await nodeNamed(api, path.org_id, link.name)
      return target === undefined || target === path.node_id ? [] : [connectionOf(link, target)]
    }),
  )
  return [...new Map(found.flat().map((one) => [one.id, one])).values()]
}

/** True if the link created the connection, in the editor or in an import. An import names it by the node's path. */
function isOf(connection: Connection, { name, type }: NamedLink): boolean {
  const slug = connection.type === type ? slugIn(connection) : undefined
  if (slug === undefined) return false
  return slug === keyOfName(name) || (slug === slugOf(name) && folded(connection.target_title) === folded(name))
}

function connectionOf({ name, type }: NamedLink, target: string) {
  return { id: connectionId(keyOfName(name), type, target), target, type }
}

/** Returns the id of the only node with this title; undefined without exactly one. */
export async function nodeNamed(api: Api, org_id: string, name: string): Promise<string | undefined> {
  const { suggestions } = await api.suggestTitles({ path: { org_id }, query: { q: name, limit: 5 } })
  const [one, ...others] = suggestions.filter(({ title }) => folded(title) === folded(name))
  return others.length > 0 ? undefined : one?.node_id
}

interface NamedLink {
  readonly name: string
  /** The type that an import gives the link's connection. */
  readonly type: 'links_to' | 'embeds'
}

/** Returns the names in the wiki links of a text, without duplicates. Ignores code. */
export function linkNames(text: string): string[] {
  return [...new Set(namedLinks(text).map(({ name }) => name))]
}

function namedLinks(text: string): NamedLink[] {
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, '').replace(/`[^`\n]*`/g, '')
  const links = new Map<string, NamedLink>()
  for (const { mark, name } of namesBegun(prose)) {
    const link = { name: nameOf(name), type: mark === '!' ? 'embeds' : 'links_to' } as const
    if (link.name !== '') links.set(`${link.type} ${link.name}`, link)
  }
  return [...links.values()]
}

/** Returns the title in a link target such as `folder/Title.md`. */
export function nameOf(target: string): string {
  const name = target.split('/').at(-1) ?? ''
  return name.replace(/\\$/, '').replace(/\.md$/i, '').trim()
}

function messageOf({ message, title }: Edit): string {
  return message.trim() || `Edit ${title}`
}

/** Returns letters that follow from an edit and the commit that it began at. */
function lettersOf(head: string, { title, text, message, files }: Edit): string {
  const digest = hexDigest(JSON.stringify([head, title, text, message.trim(), files]))
  const digits = digest.slice(0, most.letters)
  return [...digits].map((digit) => String.fromCharCode(97 + Number.parseInt(digit, 16))).join('')
}

/** True if every line ends with CR LF. */
export function hasDosLines(text: string): boolean {
  return text.includes('\r\n') && !/(^|[^\r])\n/.test(text)
}

/** Returns the typed text with the node's line endings, because browsers change them. */
export function withLineEnds(typed: string, isDos: boolean): string {
  const text = typed.replace(/\r\n?/g, '\n')
  return isDos ? text.replaceAll('\n', '\r\n') : text
}
