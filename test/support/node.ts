/** A node for tests: its paths, its repository, and short ways to fill it. */

import { type Git, gitIn } from './git.ts'
import type { Answer, PersonClient } from './people.ts'

export interface TestNode {
  readonly id: string
  readonly org: string
  /** `/orgs/…/nodes/…` */
  readonly at: string
  readonly git: Git
  /** Commits over REST and returns the new head. null deletes a file. */
  commit(branch: string, files: Readonly<Record<string, string | null>>, message?: string): Promise<string>
  /** Makes a branch over REST and returns its head. */
  branch(name: string, from?: string): Promise<string>
  /** Makes a branch from main with one commit of one file, `<name>.txt`. Returns its head. */
  proposal(name: string): Promise<string>
  /** Opens a pull request and returns the `pr` of the answer. */
  open(source: string, more?: object): Promise<Answer['body']>
  /** Returns the `pr` as it reads now. */
  pull(number: number): Promise<Answer['body']>
}

/** Creates a node in the organisation of `person`, who does everything. */
export async function newNode(
  grove: { readonly dataDir: string },
  person: PersonClient,
  fields: object = {},
): Promise<TestNode> {
  const { org } = person
  const { id } = (await person.post(`/orgs/${org}/nodes`, { title: 'Whales', ...fields }).then(expecting(201))).body
  const at = `/orgs/${org}/nodes/${id}`
  const commit: TestNode['commit'] = async (branch, files, message = 'A change') => {
    const changes = Object.entries(files).map(([path, content]) =>
      content === null ? { action: 'delete', path } : { action: 'put', path, content },
    )
    const path = `${at}/tree/${encodeURIComponent(branch)}/commits`
    return (await person.post(path, { message, changes }).then(expecting(201))).body.id
  }
  const branch: TestNode['branch'] = async (name, from = 'main') =>
    (await person.post(`${at}/branches`, { name, from }).then(expecting(201))).body.head
  return {
    id,
    org,
    at,
    git: gitIn(grove, org, id),
    commit,
    branch,
    proposal: async (name) => {
      await branch(name)
      return commit(name, { [`${name.replaceAll('/', '-')}.txt`]: `${name}\n` }, `Propose ${name}`)
    },
    open: async (source, more = {}) =>
      (
        await person
          .post(`${at}/pull-requests`, { source_branch: source, title: `Merge ${source}`, ...more })
          .then(expecting(201))
      ).body.pr,
    pull: async (number) => (await person.get(`${at}/pull-requests/${number}`).then(expecting(200))).body.pr,
  }
}

/** Passes on an answer of that status. @throws Error for any other answer */
export function expecting(status: number): (answer: Answer) => Answer {
  return (answer) => {
    if (answer.status === status) return answer
    throw new Error(`Expected ${status}, got ${answer.status}: ${JSON.stringify(answer.body)}`)
  }
}
