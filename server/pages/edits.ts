/** Builds the API calls for an edit. The form of the page and its script share it. */

import type { Api, Input } from '../../spec/client/api.ts'
import * as limits from '../base/limits.ts'
import { hexDigest } from '../markdown/connection-ids.ts'
import { codeOf } from './error-codes.ts'
import { EntryError, type Fields, isSameJson, nodeJsonOf, propertiesJson } from './properties.ts'
import type { Item } from './proposing.ts'

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
  /** Nodes of names that the text links to, by the folded name. Other names are resolved by title. */
  readonly known?: ReadonlyMap<string, string> | undefined
  /** Tags and properties; undefined: they stay as they are. */
  readonly fields?: Fields | undefined
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

/** `letters`: letters at the end of a branch name. */
const most = { letters: 8 } as const

/** Makes one commit. @throws head_moved, no_changes, pull_request_required and other errors of createCommit */
export async function saveEdit(
  api: Api,
  path: NodePath,
  source: Source,
  edit: Edit,
  branch: string | undefined = 'main',
): Promise<void> {
  const changes = await changesOf(api, path, source, edit)
  const body = { message: messageOf(edit), changes, expected_head: source.head }
  await api.createCommit({ path: { ...path, branch }, body })
}

/** Returns an edit as a page of a proposal of several. @throws EntryError: the text is too long */
export async function editItem(api: Api, path: NodePath, source: Source & { head: string }, edit: Edit): Promise<Item> {
  const changes = await changesOf(api, path, source, edit)
  return { id: path.node_id, expected_head: source.head, changes, message: messageOf(edit) }
}

/**
 * Commits an edit to a new branch and opens a proposal. The branch starts where the edit began, so that the commit cannot
 * conflict. Its name follows from the edit, so a form that is sent twice opens one proposal. The branch is deleted again
 * if a later step is refused.
 *
 * @returns the number of the proposal
 * @throws pull_request_exists: a repeated proposal is open; other errors of createBranch, createCommit and openPull
 */
export async function proposeEdit(
  api: Api,
  path: NodePath,
  source: Source & ProposalStart,
  edit: Edit,
): Promise<number> {
  return proposeChanges(api, path, source, {
    changes: await changesOf(api, path, source, edit),
    message: messageOf(edit),
  })
}

/** The node from which a proposal starts. */
export interface ProposalStart {
  readonly head: string
  readonly slug: string
  /** The beginning of the branch's name, if the user may change only their own branches. */
  readonly branches?: string | undefined
}

/** File changes and their commit message. */
export interface Commit {
  readonly changes: Changes
  readonly message: string
}

/** Commits to a new branch and opens a proposal, as `proposeEdit` does. @returns the number of the proposal */
export async function proposeChanges(
  api: Api,
  path: NodePath,
  source: ProposalStart,
  { changes, message }: Commit,
): Promise<number> {
  const { head: from, branches = '', slug } = source
  const branch = `${branches}proposals/${slug || 'node'}-${lettersOf([from, changes, message])}`
  const isNew = await unless('branch_exists', api.createBranch({ path, body: { name: branch, from } }))
  try {
    const commit = api.createCommit({ path: { ...path, branch }, body: { message, changes, expected_head: from } })
    // If the branch has moved, the same edit was sent twice, and the other request has committed it.
    await unless('head_moved', commit)
    const [title = '', ...lines] = message.split('\n')
    const description = lines.join('\n').trim()
    const { pr } = await api.openPull({
      path,
      body: { source_branch: branch, title: title.trim().slice(0, limits.title), description },
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

/** Loads the grammar of links. An editor does not need it before the first save. */
function loadLinking() {
  return import('./linking.ts')
}

/** Returns a node as operations create or propose it, with the connections of its links. @throws EntryError */
export async function newItem(api: Api, org_id: string, { id, parent, ...edit }: Omit<NewNode, 'from' | 'named'>) {
  requireEditable(edit)
  const { linkChanges } = await loadLinking()
  const { added: connections } = await linkChanges(api, { org_id, node_id: id }, { head: null, text: edit.text })
  return {
    ...{ id, title: edit.title, text_content: edit.text },
    ...(parent === undefined ? {} : { parents: [parent] }),
    message: edit.message.trim() || newMessage(edit.title),
    ...(edit.fields && { tags: edit.fields.tags, properties: JSON.parse(propertiesJson(edit.fields, {})) }),
    connections: [...connections],
    files: edit.files.map((file) => ({ ...file, encoding: 'base64' as const })),
  }
}

/** Creates a node with the connections of its links. @throws node_exists: created before, and changed since */
export async function createNode(
  api: Api,
  org_id: string,
  { id, parent, from, named, ...edit }: NewNode,
): Promise<void> {
  const node = await newItem(api, org_id, { id, parent, ...edit })
  await api.createNodes({ path: { org_id }, body: { nodes: [node] } }).catch((error: unknown) => {
    if (codeOf(error) !== 'node_exists') throw error
    return completeNode(api, { org_id, node_id: id }, edit, error)
  })
  // If main changes only by proposals, the next proposal of that text creates the connection.
  if (from === undefined) return
  const { connectLink } = await loadLinking()
  await connectLink(api, { org_id, node_id: from }, named ?? edit.title, id).catch(() => undefined)
}

/** Saves the latest text of a node whose creation succeeded although its response was lost. */
async function completeNode(api: Api, path: NodePath, edit: Edit, error: unknown): Promise<void> {
  const { title, text_content: text, head = null, created_at, updated_at } = await api.getNode({ path })
  if (title === edit.title && text === edit.text && edit.fields === undefined) return
  if (created_at !== updated_at) throw error
  await saveEdit(api, path, { head, title, text, textPath: 'content.md' }, edit)
}

/** Refuses a text that this page could not open again. @throws EntryError */
function requireEditable({ text }: Edit): void {
  if (text.length <= limits.pageText) return
  const [length, limit] = [text.length, limits.pageText].map((count) => count.toLocaleString('en'))
  throw new EntryError(
    `The text has ${length} characters, and a page edits at most ${limit}. Split it, or use a clone.`,
  )
}

/** @throws EntryError: the text is too long */
async function changesOf(api: Api, path: NodePath, source: Source, edit: Edit): Promise<Changes> {
  requireEditable(edit)
  const { head, title, text, textPath } = source
  const { linkChanges } = await loadLinking()
  const { added, removed } = await linkChanges(api, path, { head, text: edit.text, known: edit.known })
  const put = (at: string, content: string) => ({ action: 'put', path: at, content }) as const
  const isAsked = edit.title !== title || edit.fields !== undefined || head === null
  const json = isAsked ? await editedJson(api, path, head, edit) : undefined
  return [
    // If nothing differs, the text is sent anyway, so that the service answers no_changes.
    ...(edit.text === text && json !== undefined ? [] : [put(textPath, edit.text)]),
    ...(json === undefined ? [] : [put('node.json', json)]),
    ...added.map(({ id, ...connection }) => put(`connections/${id}.json`, asJson(connection))),
    ...removed.map((id) => ({ action: 'delete', path: `connections/${id}.json` }) as const),
    ...edit.files.map((file) => ({ action: 'put', ...file, encoding: 'base64' }) as const),
  ]
}

/** Returns node.json after an edit; undefined if it says the same already. */
async function editedJson(
  api: Api,
  path: NodePath,
  head: string | null,
  { title, fields }: Edit,
): Promise<string | undefined> {
  const json = await readNodeJson(api, path, head)
  const next = nodeJsonOf(json, title, fields)
  return head !== null && isSameJson(json, next) ? undefined : next
}

/** Returns node.json of a commit with these fields and its other fields unchanged. */
export async function nodeJson(api: Api, path: NodePath, head: string | null, fields: object): Promise<string> {
  const json = await readNodeJson(api, path, head)
  try {
    return asJson({ ...JSON.parse(json), ...fields })
  } catch {
    return asJson(fields)
  }
}

async function readNodeJson(api: Api, path: NodePath, head: string | null): Promise<string> {
  if (head === null) return '{}'
  const json = await api.getFile({ path: { ...path, branch: head, path: 'node.json' } }).catch((error: unknown) => {
    if (codeOf(error) === 'file_not_found') return { content: '{}' }
    throw error
  })
  return json.content
}

/** Returns the number of the proposal that an API error names. The error comes in process or over HTTP. */
function numberIn(error: unknown): number {
  const { facts, problem } = error as { facts?: { number?: unknown }; problem?: { number?: unknown } }
  return Number((facts ?? problem)?.number)
}

export function asJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** Returns the commit message. */
export function messageOf({ message, title }: Edit): string {
  return message.trim() || editMessage(title)
}

/** Returns the message of an edit without a summary. */
export function editMessage(title: string): string {
  return `Edit ${title || 'the page'}`
}

/** Returns the message of a new node without a summary. */
export function newMessage(title: string): string {
  return `Create ${title || 'the page'}`
}

/** Returns letters that follow from a commit and the one that it began at. */
function lettersOf(facts: readonly unknown[]): string {
  const digits = hexDigest(JSON.stringify(facts)).slice(0, most.letters)
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
