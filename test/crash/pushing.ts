/** Pushing, as clients of a storm do it: with git's own client over HTTP, from a clone of each node on a desk of their own. */

import { rmSync } from 'node:fs'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import type { Actor } from './actor.ts'
import { countsOf, type PushedBranch, type SharedNode, type World } from './world.ts'

/** Seconds that a push or a fetch may take; one that hangs is a problem. */
const patience = 60

/** Git's report about the only ref of a push. `refused`: nothing was changed. */
type Outcome = 'done' | 'refused' | 'unknown'

/** The clone of `node` on the desk of this client, made at its first use. */
async function cloneOf(actor: Actor, node: SharedNode): Promise<Clone> {
  actor.desk ??= deskForAStorm()
  const desk = await actor.desk
  await desk.done(`test -d ${node.id} || git init -q --bare ${node.id}`)
  return { desk, folder: node.id }
}

const desks: Desk[] = []
process.once('exit', () => {
  for (const { dir } of desks) rmSync(dir, { recursive: true, force: true })
})

/** It goes with this process: the judges repeat pushes when the clients have ended. */
async function deskForAStorm(): Promise<Desk> {
  const desk = await newDesk()
  desks.push(desk)
  return desk
}

export interface Address {
  readonly url: string
  readonly token: string
}

export function address(door: { readonly url: string }, { org }: World, node: string, token: string): Address {
  return { url: remoteUrl(door, org, node), token }
}

export interface Clone {
  readonly desk: Desk
  readonly folder: string
}

/** Fetches `branches` as refs/from/<branch>; false where the service did not answer. */
export async function fetched(actor: Actor, node: SharedNode, branches: readonly string[]): Promise<Clone | undefined> {
  const clone = await cloneOf(actor, node)
  const refs = branches.map((branch) => `+refs/heads/${branch}:refs/from/${branch}`).join(' ')
  const { code, text } = await git(clone, actor.remote(node), 'fetch -q', refs)
  const counts = countsOf(actor.world, 'fetch')
  if (code === 0) counts.acknowledged++
  else {
    counts.unknown++
    if (!isBrokenOff(text) && !isTolerated(actor, text)) actor.world.problems.push(`fetch ended with ${code}: ${text}`)
  }
  return code === 0 ? clone : undefined
}

/** Pushes one ref, and counts what came of it. `ref` has nothing before its name. */
export async function push(
  actor: Actor,
  operation: string,
  node: SharedNode,
  clone: Clone,
  from: string,
  ref: string,
): Promise<{ readonly outcome: Outcome; readonly text: string }> {
  const counts = countsOf(actor.world, operation)
  const { code, text } = await git(clone, actor.remote(node), 'push --porcelain', `+${from}:${ref}`)
  const said = outcomeOf(code, text, ref)
  // Git shows the status alone, and a disk that is gone answers 503 too.
  const outcome = said === 'busy' && isTolerated(actor, text) ? 'unknown' : said
  if (outcome === 'done') counts.acknowledged++
  else if (outcome === 'busy') counts.busy++
  else if (outcome !== 'refused') counts.unknown++
  if (outcome === 'fault' && !isTolerated(actor, text))
    actor.world.problems.push(`${operation} ended with ${code}: ${text}`)
  if (outcome === 'busy') return { outcome: 'refused', text }
  return { outcome: outcome === 'fault' ? 'unknown' : outcome, text }
}

/** A push that ended without a word is one that can be repeated: whether it was carried out before or not. */
export async function repeat(
  world: World,
  door: { readonly url: string },
  token: string,
  node: SharedNode,
  branch: PushedBranch,
) {
  const ref = `refs/heads/${branch.name}`
  const to = address(door, world, node.id, token)
  const { code, text } = await git(branch.clone, to, 'push --porcelain', `+${branch.asked ?? ''}:${ref}`)
  if (outcomeOf(code, text, ref) !== 'done' && !/remote ref does not exist/.test(text))
    world.problems.push(`The push of ${branch.name} to ${node.at} cannot be repeated: ${text}`)
}

/** The token goes with the first request: git takes a server that is killed after it has asked for one for a refusal. */
function git({ desk, folder }: Clone, { url, token }: Address, command: string, refs: string) {
  const header = `-c http.extraHeader='Authorization: Bearer ${token}'`
  return desk.sh(`timeout ${patience} git -C ${folder} ${header} ${command} ${url} ${refs}`)
}

/** Source: git-push(1), "OUTPUT" and `--porcelain`. */
function outcomeOf(code: number, text: string, ref: string): Outcome | 'busy' | 'fault' {
  const line = text.split('\n').find((one) => /^[ +\-*!=]\t/.test(one) && one.split('\t')[1]?.endsWith(`:${ref}`))
  if (code === 0) return line !== undefined && !line.startsWith('!') ? 'done' : 'fault'
  if (/another write is in progress; push again|moving to another cell; nothing was changed|error: 503/.test(text))
    return 'busy'
  if (/the ref has moved since you fetched it; fetch first|`main` cannot be rewound/.test(line ?? '')) return 'refused'
  if (/pull request \d+( needs|: | has )|moves only to the head of|only moves forward/.test(line ?? ''))
    return 'refused'
  // It began before the move, and came to its refs after it.
  if (/or its organisation moved; fetch before/.test(line ?? '')) return 'unknown'
  return isBrokenOff(text) ? 'unknown' : 'fault'
}

/** Git's message if the other end has gone. */
function isBrokenOff(text: string): boolean {
  return /Failed to connect|Recv failure|Empty reply|unexpected disconnect|hung up|remote failure|early EOF|transfer closed/i.test(
    text,
  )
}

/** Of HTTP git shows the status alone; what comes as words of the service has none. */
function isTolerated({ tolerated }: Actor, body: string): boolean {
  const status = Number(/error: (\d{3})/.exec(body)?.[1] ?? 503)
  return tolerated({ status, body, headers: {} })
}

/** New commits, each of one file, one upon the other: the oid of the last. */
export async function made(
  { desk, folder }: Clone,
  from: string,
  commits: readonly { readonly path: string; readonly text: string }[],
): Promise<string> {
  const stream = commits.map(({ path, text }, at) =>
    [
      'commit refs/made',
      'committer Ann <ann@example.org> 1700000000 +0000',
      `data ${text.length}`,
      text,
      at === 0 ? `from ${from}` : '',
      `M 100644 inline ${path}`,
      `data ${text.length}`,
      text,
      '',
    ]
      .filter((line) => line !== '')
      .join('\n'),
  )
  const said = await desk.done(
    'printf "%s\\n" "$STREAM" | git -C $FOLDER fast-import --quiet --force; git -C $FOLDER rev-parse refs/made',
    { STREAM: stream.join('\n'), FOLDER: folder },
  )
  return said.trim()
}

/** Main with the head of the branch in it: that head itself where it is ahead of main. */
export async function merged({ desk, folder }: Clone, branch: string): Promise<string> {
  const said = await desk.done(
    `cd $FOLDER
     main=refs/from/main head=refs/from/$BRANCH
     if git merge-base --is-ancestor $main $head; then git rev-parse $head
     else git commit-tree -p $main -p $head -m Merge $(git merge-tree --write-tree $main $head); fi`,
    { FOLDER: folder, BRANCH: branch },
  )
  return said.trim()
}
