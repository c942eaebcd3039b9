/** The oracles of a storm: what was acknowledged is there, once, in git's eyes and in the service's. Nothing is in flight. */

import { gitLines } from '../support/data-folder.ts'
import { type Git, gitIn } from '../support/git.ts'
import { type Answer, type Client, client, password } from '../support/people.ts'
import { judgeChecks } from './judge-checks.ts'
import { judgeConsent, judgeRules } from './judge-consent.ts'
import { judgeCredentials } from './judge-credentials.ts'
import { judgeTalk, judgeTimelines } from './judge-talk.ts'
import { inGroups, problem } from './problems.ts'
import { repeat } from './pushing.ts'
import type { OwnNode, Request, SharedNode, World } from './world.ts'

type Door = { readonly url: string }

/** Settles what was unknown, and names in `world.problems` what is not as acknowledged. `all`: what was found once, too. */
export async function judgeAnswers(world: World, door: Door, token: string, all: boolean): Promise<void> {
  const person = client(door, token)
  await judgeRules(world, person)
  for (const node of world.shared) await judgeShared(world, person, node, all)
  await inGroups(world.nodes, 8, (node) => judgeNode(world, person, node))
  await inGroups(
    world.accounts.filter(({ seen }) => all || !seen),
    4,
    async (account) => {
      const anybody = client(door)
      const again = { email: account.email, password }
      let answer = await anybody.post('/auth/login', again)
      // It never happened, and nothing of it is left that keeps it from happening now.
      if (account.unsure && answer.status === 401)
        answer = await anybody.post('/auth/signup', { ...again, name: account.email })
      account.unsure = false
      account.seen = true
      if (answer.status >= 300) problem(world, `${account.email} signed up and cannot log in`, answer)
      const orgs = await client(door, answer.body.accessToken).get('/orgs')
      if (orgs.body.total !== 1) problem(world, `${account.email} has not one organisation`, orgs)
    },
  )
  await judgeCredentials(world, door, token, all)
}

async function judgeShared(world: World, person: Client, node: SharedNode, all: boolean): Promise<void> {
  const git = gitIn(world, world.org, node.id)
  const history = await gitLines(git.dir, 'log', '--format=%H %s', 'refs/heads/main')
  const known = new Set(history.map((line) => line.slice(0, line.indexOf(' '))))
  const messages = new Set(history.map((line) => line.slice(line.indexOf(' ') + 1)))
  const sought = all ? [...node.commits, ...node.fresh] : node.fresh
  for (const commit of sought) if (!known.has(commit)) problem(world, `commit ${commit} of ${node.at} is lost`)
  node.commits.push(...node.fresh)
  node.fresh = []
  for (const commit of node.refused)
    if (known.has(commit) || messages.has(commit))
      problem(world, `commit ${commit} of ${node.at} was refused, and is there`)
  node.refused = []
  const shown = await person.get(`${node.at}/tree/main/commits?limit=1`)
  if (shown.body?.total !== history.length) problem(world, `${node.at} has ${history.length} commits, shown`, shown)

  const pulls = await listPulls(person, node)
  const numbers = pulls.map(({ number }) => number).reverse()
  if (numbers.some((number, at) => number !== at + 1)) problem(world, `numbers of ${node.at}: ${numbers}`)
  const byTitle = new Map(pulls.map((pull) => [pull.title, pull]))
  const refs = new Map(
    git.lines('for-each-ref', '--format=%(refname) %(objectname)').map((line): [string, string] => {
      const [ref = '', oid = ''] = line.split(' ')
      return [ref, oid]
    }),
  )
  for (const request of [...node.requests]) settle(world, node, request, byTitle.get(request.name), refs)
  for (const branch of node.pushed) {
    const { name, head, asked, story } = branch
    const found = refs.get(`refs/heads/${name}`) ?? null
    if (found !== head && found !== asked)
      problem(
        world,
        `${name} of ${node.at} is at ${found}, was acknowledged at ${head} and asked to ${asked}: ${story.join('\n')}`,
      )
    branch.head = found
  }
  if (pulls.length !== node.requests.length)
    problem(world, `${node.at} has ${pulls.length} requests instead of ${node.requests.length}`)
  for (const pull of pulls) {
    if (pull.status === 'merged' && pull.target_branch === 'main' && !known.has(pull.source_commit))
      problem(world, `request ${pull.number} of ${node.at} is merged and not in main`)
    if (pull.status === 'closed' && refs.get(`refs/grove/pulls/${pull.number}`) !== pull.source_commit)
      problem(world, `request ${pull.number} of ${node.at} is closed and its head is not kept`)
  }
  judgeFiles(world, node, git)
  await judgeBranches(world, person, node, refs)
  await judgeLedger(world, git, node, pulls)
  const entries = judgeTalk(world, git, node)
  judgeConsent(world, git, node, entries)
  if (all) await judgeTimelines(world, person, node, entries)
  await judgeChecks(world, person, git, node, all)
}

/** Repeats pushes without an answer. Each must succeed once the locks that a power cut left are gone. */
export async function judgePushes(world: World, door: Door, token: string): Promise<void> {
  for (const node of world.shared)
    for (const branch of node.pushed) {
      if (branch.asked === undefined) continue
      await repeat(world, door, token, node, branch)
      branch.head = branch.asked
      delete branch.asked
    }
}

async function listPulls(person: Client, node: SharedNode): Promise<Answer['body'][]> {
  const all: Answer['body'][] = []
  for (let total = 1; all.length < total; ) {
    const page = await person.get(`${node.at}/pull-requests?status=all&limit=200&offset=${all.length}`)
    if (page.status !== 200) throw new Error(`The requests of ${node.at}: ${page.status} ${JSON.stringify(page.body)}`)
    all.push(...page.body.pull_requests)
    total = page.body.total
    if (page.body.pull_requests.length === 0) break
  }
  return all
}

function settle(
  world: World,
  node: SharedNode,
  request: Request,
  found: Answer['body'] | undefined,
  refs: ReadonlyMap<string, string>,
): void {
  if (request.number === undefined && found) request.number = found.number
  if (request.number === undefined) {
    node.requests.splice(node.requests.indexOf(request), 1)
    return
  }
  const name = `request ${request.number} of ${node.at}`
  if (found?.number !== request.number) {
    problem(world, `${name} is lost`)
    return
  }
  if (found.status !== request.status && found.status !== request.unsure)
    problem(world, `${name} is ${found.status}, and was acknowledged as ${request.status}`)
  request.status = found.status
  delete request.unsure
  const there = refs.has(`refs/heads/${request.name}`)
  if (request.branchDeleted === 'asked') request.branchDeleted = there ? 'no' : 'done'
  if (there !== (request.branchDeleted === 'no')) problem(world, `the branch of ${name} is ${there ? 'back' : 'lost'}`)
  if (!there && request.status === 'open') problem(world, `${name} is open, and its branch is deleted`)
}

/** The service shows the branches where git has them. */
async function judgeBranches(world: World, person: Client, node: SharedNode, refs: ReadonlyMap<string, string>) {
  const shown = await person.get(`${node.at}/branches?limit=200`)
  const count = [...refs.keys()].filter((ref) => ref.startsWith('refs/heads/')).length
  const wrong = (shown.body.branches ?? []).filter(
    ({ name, head }: { name: string; head: string }) => refs.get(`refs/heads/${name}`) !== head,
  )
  if (shown.body.total !== count || wrong.length > 0)
    problem(world, `git has ${count} branches of ${node.at}, and not ${JSON.stringify(wrong)}, shown`, shown)
}

/** The commit of a request is where its request says: in its branch, and in main if it is merged. */
function judgeFiles(world: World, node: SharedNode, git: Git): void {
  const wanted = node.requests.flatMap(({ name, status, branchDeleted, target = 'main' }) => [
    ...(status === 'merged' ? [`refs/heads/${target}:${name}.txt`] : []),
    ...(branchDeleted === 'no' ? [`refs/heads/${name}:${name}.txt`] : []),
  ])
  const found = git.run(['cat-file', '--batch-check'], { input: `${wanted.join('\n')}\n` }).toString()
  for (const line of found.split('\n'))
    if (line.endsWith(' missing') && line !== ' missing') problem(world, `${node.at}: ${line}`)
}

/** Each event exactly once: there is no other log of events than the ledger. */
async function judgeLedger(world: World, git: Git, node: SharedNode, pulls: readonly Answer['body'][]): Promise<void> {
  const ends: Record<string, string> = { merged: 'merge', closed: 'close' }
  const expected = [
    'create',
    ...pulls.flatMap(({ number, status }) => [
      `open ${number}`,
      ...(ends[status] === undefined ? [] : [`${ends[status]} ${number}`]),
    ]),
  ]
  const subjects = await gitLines(git.dir, 'log', '--first-parent', '--format=%s', 'refs/grove/ledger')
  // Other acts than these may happen to an entry several times, and a push by another than the author once for each branch.
  const others = /^((comment|review|(edit|delete)-comment|resolve|reopen-thread|withdraw|apply|check) |push$)/
  const events = subjects.filter((subject) => !others.test(subject))
  const once = subjects.filter((subject) => /^(comment|review|delete-comment|withdraw|apply) /.test(subject))
  if (new Set(once).size < once.length) problem(world, `the ledger of ${node.at} has an act twice`)
  if (events.sort().join() !== expected.sort().join()) {
    const extra = events.filter((event, at) => events.indexOf(event) !== at || !expected.includes(event))
    const missing = expected.filter((event) => !events.includes(event))
    problem(world, `the ledger of ${node.at} has too much: ${extra}; lacks: ${missing}`)
  }
}

async function judgeNode(world: World, person: Client, node: OwnNode): Promise<void> {
  const answer = await person.get(node.at)
  const there = answer.status === 200
  if (!there && answer.status !== 404) return problem(world, `${node.at}`, answer)
  if (node.unsure) node.deleted = there ? 'no' : 'done'
  if (node.deleted === 'asked') node.deleted = there ? 'no' : 'done'
  node.unsure = false
  if (there !== (node.deleted === 'no')) problem(world, `${node.at} is ${there ? 'back' : 'lost'}`, answer)
}
