/** The operator's folders, the command line, and an organisation worth keeping. */

import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Finished, runCommand, withoutProgress } from '../support/command.ts'
import { converse } from '../support/conversation.ts'
import { git } from '../support/data-folder.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, type PersonClient } from '../support/people.ts'
import { databaseEnvironment } from '../support/postgres.ts'

export const queries = ['whale song', 'krill of the deep ice']

/** To its end, whatever its exit code; without what this process or its user has set for git. */
export async function run(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Finished> {
  return promisify(execFile)(command, [...args], { env: environmentOf(env), maxBuffer: 1e8 }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Finished) => ({ code, stdout, stderr }),
  )
}

function environmentOf(env: Record<string, string>): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env
  return { PATH, HOME, LC_ALL: 'C', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', ...identity, ...env }
}

const identity = {
  GIT_AUTHOR_NAME: 'Operator',
  GIT_AUTHOR_EMAIL: 'operator@example.org',
  GIT_COMMITTER_NAME: 'Operator',
  GIT_COMMITTER_EMAIL: 'operator@example.org',
}

/** `grove …` over a data folder; standard error without the progress. */
export async function cli(dataDir: string, ...args: string[]): Promise<Finished> {
  return cliWith({ DATA_DIR: dataDir, ...(await databaseEnvironment(dataDir)) }, ...args)
}

/** The same in an environment. */
export async function cliWith(env: Record<string, string>, ...args: string[]): Promise<Finished> {
  return withoutProgress(await runCommand(args, environmentOf({ LOG_LEVEL: 'warn', ...env })))
}

/** The name that `grove` gives the database of accounts, on the engine of this run. */
export const credentials = process.env.GROVE_TEST_DATABASE_URL === undefined ? 'credentials.sqlite' : 'DATABASE_URL'

/** By e-mail. */
export function resetTokens(stdout: string): Map<string, string> {
  return new Map(
    [...stdout.matchAll(/^(\S+@\S+) (grv_reset_\S+)$/gm)].map(([, email = '', token = '']) => [email, token]),
  )
}

/** The secret of a new personal access token. */
export async function newToken(person: PersonClient): Promise<string> {
  return (await person.post('/auth/tokens', { name: 'Laptop', access: 'read' }).then(expecting(201))).body.token
}

/** Who sets a password by a token. */
export async function withNewPassword(
  grove: { readonly url: string },
  reset_token: string | undefined,
): Promise<PersonClient> {
  const answer = await client(grove).post('/auth/password', { reset_token, new_password: 'another long one' })
  const session: PersonClient['session'] = expecting(200)(answer).body
  return { ...client(grove, session.accessToken), user: session.user, org: session.user.org_id ?? '', session }
}

/**
 * Two organisations of Ann's, Bob a member of the first: nodes with parents, connections, properties and tags; merged,
 * closed, open and draft requests; branches and nodes that are gone; one node that was never initialised. The first is
 * her personal one.
 */
export async function seed(grove: { readonly dataDir: string }, ann: PersonClient): Promise<string[]> {
  const rules = [{ branches: ['guarded/**'], approvals: 1, checks: [{ name: 'links', from: ann.user.id }] }]
  const second = (await ann.post('/orgs', { name: 'Second', require_pull_requests: false, rules })).body.id
  await ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'editor' })
  const sea = await newNode(grove, ann, { title: 'Sea', tags: ['sea'], text_content: 'deep ice' })
  const whales = await newNode(grove, ann, {
    title: 'Whales',
    parents: [sea.id],
    tags: ['sea', 'mammal'],
    properties: { legs: 0 },
    text_content: 'The song of a whale.\n',
  })
  const krill = await newNode(grove, ann, { title: 'Krill', text_content: 'krill of the deep', parents: [sea.id] })
  const gone = await newNode(grove, ann, { title: 'Gone', parents: [sea.id] })
  await newNode(grove, ann, { title: 'Empty', initialize: false })
  await ann.post(`${whales.at}/connections`, { target: krill.id, type: 'eats', label: 'a lot' }).then(expecting(201))
  await ann.post(`${krill.at}/connections`, { target: gone.id }).then(expecting(201))
  for (const name of ['merged', 'closed', 'open', 'deep/draft', 'unbranched']) {
    await whales.proposal(name)
    await whales.open(name, name === 'deep/draft' ? { is_draft: true } : {})
    if (name === 'merged' || name === 'open')
      await converse(`${whales.at}/pull-requests/${name === 'open' ? 3 : 1}`, ann)
    if (name === 'merged') await ann.post(`${whales.at}/pull-requests/1/merge`, {}).then(expecting(200))
  }
  await ann.patch(`${whales.at}/pull-requests/2`, { status: 'closed' }).then(expecting(200))
  for (const name of ['merged', 'closed', 'unbranched'])
    await ann.delete(`${whales.at}/branches/${name}`).then(expecting(204))
  await git(whales.git.dir, 'tag', '-a', '-m', 'first', 'v1', 'main')
  await git(krill.git.dir, 'pack-refs', '--all')
  await ann.delete(gone.at).then(expecting(204))
  await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
  await newNode(grove, { ...ann, org: second }, { title: 'Song', text_content: 'whale song' })
  return [ann.org, second]
}

interface Load {
  /** Resolves when so many rounds are done. */
  until(rounds: number): Promise<void>
  stop(): Promise<void>
}

/** Commits, branches, requests and new nodes, one after the other, in the organisation of `person`. */
export function startLoad(grove: { readonly dataDir: string }, person: PersonClient): Load {
  let [rounds, stopped] = [0, false]
  const waiting: (() => void)[] = []
  const work = async () => {
    let node = await newNode(grove, person, { title: 'Load' })
    while (!stopped) {
      const name = `b${++rounds}`
      await node.proposal(name)
      const { number } = await node.open(name)
      if (rounds % 2 === 0) await person.post(`${node.at}/pull-requests/${number}/merge`, {})
      if (rounds % 3 === 0) await person.delete(`${node.at}/branches/${name}`)
      if (rounds % 5 === 0) node = await newNode(grove, person, { title: `Load ${rounds}`, parents: [node.id] })
      for (const wake of waiting.splice(0)) wake()
    }
  }
  const working = work()
  return {
    until: async (enough) => {
      while (rounds < enough) await Promise.race([working, new Promise<void>((wake) => waiting.push(wake))])
    },
    stop: () => {
      stopped = true
      return working
    },
  }
}

const temporary: string[] = []

export async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'grove-operator-'))
  temporary.push(made)
  return made
}

/** Folders are removed after each file. */
export function useDesk(): void {
  after(async () => {
    for (const folder of temporary) await rm(folder, { recursive: true, force: true })
  })
}
