/** A node at a revision: its title, its text with what the links lead to, its files. */

import type { Api } from '../../spec/client/api.ts'
import { Refusal } from '../errors.ts'
import type { AnswerOf } from '../http/in-process.ts'
import { longestText } from './markdown.ts'

type Node = AnswerOf<'getNode'>
type Links = AnswerOf<'listLinks'>['links']

interface NodePath {
  readonly org_id: string
  readonly node_id: string
}

/** Files of a node that are named. */
const mostFiles = 100

/** The node at a revision. */
export interface Version {
  readonly title: string
  readonly text: string
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
  const named = files.entities.map(({ entity_key }) => entity_key).filter((key) => !ours.test(key))
  return { title, text, links: text.length > longestText ? [] : links, files: named.slice(0, mostFiles) }
}

/** What a page shows in other ways. */
const ours = /^(node\.json|content\.md|README\.md|(parents|children|connections)\/.*|\.[^/]*)$/

/** None where they cannot be told: of a long text, or while others ask for theirs. */
async function readLinks(api: Api, path: NodePath, revision: string): Promise<Links> {
  const found = await api.listLinks({ path, query: { revision } }).catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 'too_large') return { links: [] }
    throw error
  })
  return found.links
}

async function readText(api: Api, path: NodePath, revision: string): Promise<string> {
  for (const name of ['content.md', 'README.md']) {
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
    if (error instanceof Refusal && error.code === 'file_not_found') return undefined
    throw error
  })
  return file?.encoding === 'utf-8' ? file.content : undefined
}
