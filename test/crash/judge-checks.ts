/** The oracle of a storm's checks: the files of the ledger, which native git reads. */

import type { Git } from '../support/git.ts'
import type { Answer, Client } from '../support/people.ts'
import { checkName } from './consent.ts'
import { problem } from './problems.ts'
import type { SharedNode, World } from './world.ts'

/** Settles what was unknown. Each report that was acknowledged is the last under its name, and there is no other. */
export async function judgeChecks(
  world: World,
  person: Client,
  git: Git,
  node: SharedNode,
  all: boolean,
): Promise<void> {
  const found = readChecks(git)
  for (const [commit, reports] of node.checks) {
    const there = found.get(commit) ?? new Map<string, string>()
    for (const [name, one] of reports) {
      const now = there.get(name)
      if (now !== one.description && (one.asked === undefined || now !== one.asked))
        problem(world, `check ${name} of ${commit} of ${node.at} is ${now}, was told as ${JSON.stringify(one)}`)
      one.description = now
      delete one.asked
      if (now === undefined) reports.delete(name)
    }
  }
  for (const [commit, there] of found) {
    const known = [...(node.checks.get(commit)?.keys() ?? [])].sort()
    const names = [...there.keys()].sort()
    // Several clients report the check that rules demand. `judge-consent.ts` judges it.
    const own = names.filter((name) => name !== checkName)
    if (known.join() !== own.join()) problem(world, `checks of ${commit} of ${node.at}: ${own}, not ${known}`)
    if (!all) continue
    const { status, body } = await person.get(`${node.at}/checks/${commit}`)
    const shown = (body.checks ?? []).map((one: Answer['body']) => `${one.name} ${one.description}`)
    const wanted = names.map((name) => `${name} ${there.get(name)}`)
    if (shown.join() !== wanted.join()) problem(world, `checks of ${commit}: ${status} ${shown}, not ${wanted}`)
  }
}

/** The description of each check, by commit and name. */
function readChecks(git: Git): Map<string, Map<string, string>> {
  const files = git.lines('ls-tree', '-r', 'refs/grove/ledger', 'checks/').map((line) => line.split(/[ \t]/))
  let answer = git.run(['cat-file', '--batch'], { input: files.map(([, , blob]) => `${blob}\n`).join('') })
  const found = new Map<string, Map<string, string>>()
  for (const [, , , path = ''] of files) {
    const [head = '', size] = /^\S+ blob (\d+)\n/.exec(answer.toString('latin1', 0, 100)) ?? []
    const { checks } = JSON.parse(answer.toString('utf8', head.length, head.length + Number(size)))
    answer = answer.subarray(head.length + Number(size) + 1)
    const commit = path.replace(/^checks\/(..)\/(.*)\.json$/, '$1$2')
    const entries = Object.entries<{ description: string }>(checks)
    found.set(commit, new Map(entries.map(([name, { description }]) => [name, description])))
  }
  return found
}
