/** The API calls that write the new title of a page in links to it. */

import type { Api } from '../../spec/client/api.ts'
import type { AnswerOf } from '../http/in-process.ts'
import { readAllLinks } from '../markdown/all-links.ts'
import { folded, withoutEnding } from '../markdown/note-names.ts'
import { canName, differOnlyInName, type Renaming, renameLinks } from '../markdown/renamed-links.ts'
import { editItem, type NodePath, type Source, saveEdit } from './edits.ts'
import { isNameTaken } from './linking.ts'
import type { Item } from './proposing.ts'

export type Linking = AnswerOf<'listBacklinks'>['backlinks'][number]

export interface Renamed extends Renaming {
  readonly org_id: string
  readonly node_id: string
}

export interface LinkingTexts {
  /** The texts with links by the old name. */
  readonly texts: readonly Linking[]
  /** The offset at which the list continues; undefined at its end. */
  readonly next: number | undefined
}

/** `shown`: texts of a page, at most what one form sends. `read`: texts that are read for it. `perCall`: of the API. */
const most = { shown: 40, read: 200, perCall: 50 } as const

/** Lists the texts with links by the old name. Reads a bounded number of texts, so a page may have few or none. */
export async function listLinkingTexts(api: Api, renamed: Renamed, offset: number): Promise<LinkingTexts> {
  const path = { org_id: renamed.org_id, node_id: renamed.node_id }
  const texts: Linking[] = []
  for (let at = offset; at < offset + most.read; ) {
    const limit = Math.min(most.perCall, most.shown - texts.length)
    const { backlinks, total } = await api.listBacklinks({ path, query: { name: renamed.from, limit, offset: at } })
    texts.push(...backlinks.filter(({ links }) => links.length > 0))
    at += limit
    if (at >= total) return { texts, next: undefined }
    if (texts.length >= most.shown) return { texts, next: at }
  }
  return { texts, next: offset + most.read }
}

/** Says why the new title is not offered; undefined if it is. */
export function whyNot(node: AnswerOf<'getNode'>, from: string): 'same' | 'file' | 'unlinkable' | undefined {
  if (folded(from) === folded(node.title)) return 'same'
  const { source_path: path } = node.properties
  const file = typeof path === 'string' ? withoutEnding(path.split('/').at(-1) ?? '') : undefined
  // Such links name the file of an import, which keeps its name. In the folder, the new title would lead nowhere.
  if (file !== undefined && folded(file) === folded(from)) return 'file'
  return canName(node.title) ? undefined : 'unlinkable'
}

/** The result for one text. */
export type Outcome =
  | { readonly kind: 'done' }
  /** The change is built, and not proposed yet. */
  | { readonly kind: 'proposed'; readonly item: Item }
  | { readonly kind: 'failed'; readonly why: string }

interface Text {
  readonly path: NodePath
  /** The text at the head that was listed. */
  readonly source: Source & { readonly head: string }
  /** False: main is changed. */
  readonly isProposed: boolean
}

/** Writes the new name in one text, or returns the change to propose. @throws errors of the API */
export async function renameIn(api: Api, renamed: Renamed, { path, source, isProposed }: Text): Promise<Outcome> {
  const { to, node_id } = renamed
  const { links, truncated } = await api.listLinks({ path, query: { revision: source.head } })
  if (truncated) return { kind: 'failed', why: 'Its text has too many links to check them all.' }
  const places = links.filter((link) => link.form === 'wikilink' && link.node?.id === node_id)
  const text = renameLinks(source.text, places, renamed)
  if (text === source.text) return { kind: 'done' }
  const [before, after] = [await readAllLinks(source.text), await readAllLinks(text)]
  const isElsewhere = links.some(
    (link) =>
      link.form === 'wikilink' && link.node?.id !== node_id && folded(link.target.split('#')[0] ?? '') === folded(to),
  )
  if (isElsewhere || (await isNameTaken(api, path, to, node_id)))
    return { kind: 'failed', why: `It already links to another page by the name “${to}”.` }
  if (!before.isWhole || !differOnlyInName(before.links, after.links, renamed))
    return { kind: 'failed', why: `“${to}” would be read as something else at this place. Edit it by hand.` }
  const known = new Map([[folded(to), node_id]])
  const edit = { title: source.title, text, message: renameMessage(renamed), files: [], known }
  if (isProposed) return { kind: 'proposed', item: await editItem(api, path, source, edit) }
  await saveEdit(api, path, source, edit)
  return { kind: 'done' }
}

/** The message of the commits, and the title of their proposal. */
export function renameMessage({ from, to }: Renamed): string {
  return `Update links: ${from} is now ${to}`
}
