/** A node at a revision: its title, its text with what the links lead to, its files. */

import type { Api } from '../../../spec/client/api.ts'
import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { unlessBusy } from '../parts/degraded.ts'
import { longestText } from '../text/markdown.ts'

type Node = AnswerOf<'getNode'>
type Links = AnswerOf<'listLinks'>['links']

interface NodePath {
  readonly org_id: string
  readonly node_id: string
}

/** Files of a node that are named; UTF-16 units of its text that are shown. */
const most = { files: 100, text: 1_048_576 } as const

/** The node at a revision. */
export interface Version {
  readonly title: string
  /** Its beginning, where it is longer than a page. */
  readonly text: string
  /** The file that has all of it, where a page has not. */
  readonly wholeText?: string
  /** The file of the text; absent where there is none. */
  readonly textPath?: string
  readonly links: Links
  /** Paths. */
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
  // The list may be too long to name the file; a text comes from one.
  const textPath = textPaths.find((name) => paths.includes(name)) ?? (text === '' ? undefined : textPaths[0])
  const version = {
    ...{ title, text, links: text.length > longestText ? [] : links, files: named },
    ...(textPath && { textPath }),
  }
  if (text.length <= most.text || textPath === undefined) return version
  return { ...version, wholeText: textPath, text: text.slice(0, most.text).replace(/[\ud800-\udbff]$/, '') }
}

/** The first of them that is there has the text of a node. */
const textPaths = ['content.md', 'README.md'] as const

/** What a page shows in other ways. */
const ours = /^(node\.json|content\.md|README\.md|(parents|children|connections)\/.*|\.[^/]*)$/

/** None where they cannot be read: of a long text, or while too many requests ask for links. */
async function readLinks(api: Api, path: NodePath, revision: string): Promise<Links> {
  const found = api.listLinks({ path, query: { revision } }).then(({ links }) => links)
  return unlessBusy<Links>(found, [], ['too_large'])
}

async function readText(api: Api, path: NodePath, revision: string): Promise<string> {
  for (const name of textPaths) {
    const text = await readFile(api, path, revision, name)
    if (text !== undefined) return text
  }
  return ''
}

/** @param otherwise the title, where node.json says none */
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
