/** The oracle of cells: each organisation is in one folder, the directory says in which, and `grove doctor` finds nothing. */

import { readdir } from 'node:fs/promises'
import { relative } from 'node:path'
import pg from 'pg'
import { isId } from '../../server/domain/layout.ts'
import { runGroveCommand } from '../support/command.ts'
import { repositoriesIn } from '../support/data-folder.ts'
import type { CrashingCell } from './cells.ts'
import type { CrashingDatabase } from './database.ts'

type Place = { readonly org_id: string; readonly cell: string; readonly state: string }

/** Returns the problems of the directory. A crash may leave a claim without a folder for an hour. */
export async function judgeDirectory(
  { environment }: Pick<CrashingDatabase, 'environment'>,
  cells: readonly Pick<CrashingCell, 'name' | 'dataDir'>[],
): Promise<string[]> {
  const asking = new pg.Client({ connectionString: environment.DATABASE_URL })
  await asking.connect()
  const { rows } = await asking.query<Place>('select org_id, cell, state from place').finally(() => asking.end())
  const places = new Map(rows.map((place) => [place.org_id, place]))
  const problems: string[] = []
  const found = new Map<string, string>()
  const repositories = new Map<string, string>()
  for (const { name, dataDir } of cells) {
    const entries = await readdir(dataDir)
    for (const entry of entries.filter((one) => one.startsWith('foreign-'))) problems.push(`${entry} in ${name}`)
    for (const org of entries.filter(isId)) {
      const [other, place] = [found.get(org), places.get(org)]
      if (other !== undefined) problems.push(`the organisation ${org} is in ${other} and in ${name}`)
      if (place?.cell !== name || place.state !== 'here')
        problems.push(`the organisation ${org} is in ${name}, and the directory says ${JSON.stringify(place)}`)
      found.set(org, name)
    }
    for (const repo of await repositoriesIn(dataDir)) {
      const [, node = ''] = /^[^/]+\/([^/]+)\.git$/.exec(relative(dataDir, repo)) ?? []
      if (!isId(node)) continue
      const other = repositories.get(node)
      if (other !== undefined) problems.push(`the node ${node} is at ${other} and at ${repo}`)
      repositories.set(node, repo)
    }
  }
  for (const { org_id, cell, state } of rows)
    if (state === 'moving' || (state === 'here' && found.get(org_id) !== cell))
      problems.push(`the directory says that ${org_id} is ${state} in ${cell}, and it is in ${found.get(org_id)}`)
  return problems
}

/** Returns the findings of `grove doctor`, by cell. */
export async function judgeDoctors(cells: readonly CrashingCell[]): Promise<string[]> {
  const problems: string[] = []
  for (const { name, dataDir, environment } of cells) {
    const { code, stdout, stderr } = await runGroveCommand(dataDir, ['doctor', '--second-reader'], environment)
    if (code !== 0) problems.push(`grove doctor of ${name} ended with ${code}: ${stdout}${stderr}`)
  }
  return problems
}
