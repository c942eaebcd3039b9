/** The messages of commits that the service writes, with titles of pages instead of ids. */

import type { Api } from '../../../spec/client/api.ts'
import { unlessBusy } from './degraded.ts'

/** Titles of pages by id. */
export type Titles = Readonly<Record<string, string>>

/** Maximum titles that are read for one page. */
const mostTitles = 20

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const aboutPage = new RegExp(`^(Add parent|Remove parent|Connect to) (${uuid})$`)
const aboutLink = /^(Edit|Remove) connection \S+$/

/** For each beginning of a message: the words before a title, and those without one. */
const words: Readonly<Record<string, readonly [string, string]>> = {
  'Add parent': ['Add the parent', 'Add a parent'],
  'Remove parent': ['Remove the parent', 'Remove a parent'],
  'Connect to': ['Link to', 'Link to a page'],
}

/** Reads the titles of pages whose ids are in these messages, up to a limit. Deleted pages have none. */
export async function readTitles(api: Api, org_id: string, messages: readonly string[]): Promise<Titles> {
  const ids = new Set(messages.flatMap((message) => aboutPage.exec(lineOf(message))?.[2] ?? []))
  const titles: Record<string, string> = {}
  const read = async (node_id: string) => {
    const node = api.getNode({ path: { org_id, node_id } })
    const found = await unlessBusy<Awaited<typeof node> | undefined>(node, undefined, ['node_not_found'])
    if (found !== undefined) titles[node_id] = found.title
  }
  await Promise.all([...ids].slice(0, mostTitles).map(read))
  return titles
}

function lineOf(message: string): string {
  return message.trim().split('\n', 1)[0]?.trim() ?? ''
}

/** Returns the first line of a message, without ids; '' if it is blank. */
export function messageLine(message: string, titles: Titles): string {
  const line = lineOf(message)
  const [, start = '', id = ''] = aboutPage.exec(line) ?? []
  const [before, without] = words[start] ?? []
  if (before !== undefined && without !== undefined) {
    const title = Object.hasOwn(titles, id) ? titles[id] : undefined
    return title === undefined ? without : `${before} ${title}`
  }
  const [, act] = aboutLink.exec(line) ?? []
  return act === undefined ? line : `${act} a link`
}
