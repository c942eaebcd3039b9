/** Changes that others made to a node since a visitor opened its page, in words. */

import type { Api } from '../../../spec/client/api.ts'
import type { NodePath } from '../edits.ts'
import type { OvertakenError } from '../node-changes.ts'

/** Files and properties that are named, and characters of a value. */
const most = { named: 20, value: 80 } as const

/** Lists the changes from `base` to the head of the error. */
export async function whatChanged(
  api: Api,
  path: NodePath,
  base: string,
  { head, paths }: OvertakenError,
): Promise<string[]> {
  const said: string[] = []
  for (const changed of paths.slice(0, most.named))
    if (changed === 'node.json') {
      const [before, after] = await Promise.all([fieldsAt(api, path, base), fieldsAt(api, path, head)])
      said.push(...fieldChanges(before, after))
    } else said.push(nameOf(changed))
  if (paths.length > most.named) said.push(`and ${paths.length - most.named} more files`)
  return [...new Set(said)]
}

function nameOf(path: string): string {
  if (path === 'content.md' || path === 'README.md') return 'the text'
  if (path.startsWith('parents/')) return 'the place of the page'
  if (path.startsWith('connections/')) return 'its links'
  return `the file ${path}`
}

/** The fields of node.json, with each property as a field. */
async function fieldsAt(api: Api, path: NodePath, commit: string): Promise<Map<string, string>> {
  const json = await api.getFile({ path: { ...path, branch: commit, path: 'node.json' } }).catch(() => undefined)
  try {
    const { title, tags = [], properties = {} } = JSON.parse(json?.content ?? '{}')
    return new Map([
      ['the title', JSON.stringify(title)],
      ['the tags', Array.isArray(tags) ? tags.join(', ') : JSON.stringify(tags)],
      ...Object.entries(properties).map(([name, value]) => [`the property ${name}`, JSON.stringify(value)] as const),
    ])
  } catch {
    return new Map()
  }
}

function fieldChanges(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name))
  const said = names.slice(0, most.named).map((name) => {
    const now = after.get(name)
    return now === undefined || now === '' ? `${name}, which is gone` : `${name}, now ${excerpt(now)}`
  })
  return names.length > most.named ? [...said, `and ${names.length - most.named} more fields`] : said
}

function excerpt(text: string): string {
  const letters = [...text]
  return letters.length > most.value ? `${letters.slice(0, most.value).join('')}…` : text
}
