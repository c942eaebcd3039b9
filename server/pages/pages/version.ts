/** A node at a revision: title, text, resolved links and files. */

import type { Api } from '../../../spec/client/api.ts'
import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { unlessBusy } from '../parts/degraded.ts'
import { isTooLong } from '../text/rendering.ts'

type Node = AnswerOf<'getNode'>
type Links = AnswerOf<'listLinks'>['links']

interface NodePath {
  readonly org_id: string
  readonly node_id: string
}

/** Maximum files listed; maximum UTF-16 units of the text shown. */
const most = { files: 100, text: 1_048_576 } as const

/** The node at a revision. */
export interface Version {
  readonly title: string
  /** The text; if it is too long for a page, its beginning. */
  readonly text: string
  /** The path of the file with the whole text, if the page cuts it. */
  readonly wholeText?: string
  /** The path of the file with the text; absent without one. */
  readonly textPath?: string
  readonly links: Links
  /** The paths of its other files. */
  readonly files: readonly string[]
}

export async function readVersion(api: Api, path: NodePath, node: Node, revision: string): Promise<Version> {
  const isMain = revision === 'main'
  if (isMain && node.head === undefined) return { title: node.title, text: '', links: [], files: [] }
  const at = { ...path, branch: revision }
  const [files, links, text, title] = await Promise.all([
    api.listEntities({ path: at, query: { limit: 200 } }),
    readLinks(api, path, revision),
    isMain ? node.text_content : readText(api, path, revision),
    isMain ? node.title : readTitle(api, path, revision, node.title),
  ])
  const paths = files.entities.map(({ entity_key }) => entity_key)
  const named = paths.filter((key) => !ours.test(key)).slice(0, most.files)
  // A long list may not contain the file, but a text always comes from one.
  const textPath = textPaths.find((name) => paths.includes(name)) ?? (text === '' ? undefined : textPaths[0])
  const version = {
    ...{ title, text, links: isTooLong(text) ? [] : links, files: named },
    ...(textPath && { textPath }),
  }
  if (text.length <= most.text || textPath === undefined) return version
  return { ...version, wholeText: textPath, text: text.slice(0, most.text).replace(/[\ud800-\udbff]$/, '') }
}

/** The first of these files that exists has the text of the node. */
const textPaths = ['content.md', 'README.md'] as const

/** Files that the page does not list, because it shows them in other ways. */
const ours = /^(node\.json|content\.md|README\.md|(parents|children|connections)\/.*|\.[^/]*)$/

/** Reads the links of the text. Returns none if the text is too long, or the service is busy or late. */
async function readLinks(api: Api, path: NodePath, revision: string): Promise<Links> {
  const found = api.listLinks({ path, query: { revision } }).then(({ links }) => links)
  return unlessBusy<Links>(found, [], ['too_large'])
}

/** Reads the text of a node at a revision; '' without one. */
export async function readText(api: Api, path: NodePath, revision: string): Promise<string> {
  for (const name of textPaths) {
    const text = await readFile(api, path, revision, name)
    if (text !== undefined) return text
  }
  return ''
}

/** Reads the title at a revision. @param otherwise the result if node.json has no title */
export async function readTitle(api: Api, path: NodePath, revision: string, otherwise: string): Promise<string> {
  const json = await readFile(api, path, revision, 'node.json')
  try {
    const { title } = JSON.parse(json ?? '{}')
    return typeof title === 'string' ? title : otherwise
  } catch {
    return otherwise
  }
}

async function readFile(api: Api, path: NodePath, revision: string, name: string): Promise<string | undefined> {
  const at = { ...path, branch: revision, path: name }
  const file = await api.getFile({ path: at }).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'file_not_found') return undefined
    throw error
  })
  return file?.encoding === 'utf-8' ? file.content : undefined
}
