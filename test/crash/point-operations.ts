/** The operations whose every step is tried: what each needs, and how it is seen whether it is there. */

import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { placesOf } from '../review/erased-bytes.ts'
import { type Git, gitIn } from '../support/git.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Answer, type Client, client, type PersonClient, signUp } from '../support/people.ts'

/** The state of an operation in words: nothing, all of it, or something in between. */
export type State = 'old' | 'new' | `between: ${string}`

export interface Subject {
  readonly id: string
  readonly ask: (person: Client, door: { readonly url: string }) => Promise<Answer>
  /** As this person's service and git see it. */
  readonly state: (person: Client) => Promise<State>
  readonly git: Git
  /** Answers to the same, asked again, that say that it is done. */
  readonly repeated: readonly (number | string)[]
}

/** Where subjects are made: through a process that no fault touches. */
export interface Place {
  readonly dataDir: string
  readonly ann: PersonClient
  readonly living: { readonly url: string }
}

export type Operation = (place: Place) => Promise<Subject>

/** By name: makes what the operation needs, through the living process. */
export const operations: Readonly<Record<string, Operation>> = {
  'a commit': async (place) => {
    const { node, root } = await freshNode(place)
    const body = { message: 'Sing', changes: [{ action: 'put', path: 'deep/song.txt', content: 'A song\n' }] }
    return {
      id: node.id,
      ask: (person) => person.post(`${node.at}/tree/main/commits`, body),
      state: async (person) => {
        const { head } = (await person.get(node.at)).body
        if (head !== node.git.head()) return `between: git says ${node.git.head()}, the service ${head}`
        return head === root ? 'old' : 'new'
      },
      git: node.git,
      repeated: [201, 'no_changes'],
    }
  },
  'a merge': async (place) => {
    const { node, root } = await freshNode(place)
    const source = await node.proposal('dolphins')
    await node.open('dolphins')
    return {
      id: node.id,
      ask: (person) => person.post(`${node.at}/pull-requests/1/merge`, {}),
      state: (person) =>
        pullState(person, node, {
          old: ['open', root, 'create,open 1'],
          new: ['merged', source, 'create,merge 1,open 1'],
        }),
      git: node.git,
      repeated: [200],
    }
  },
  'an applied suggestion': async (place) => {
    const { node } = await freshNode(place)
    const source_commit = await node.proposal('dolphins')
    await node.open('dolphins')
    const at = `${node.at}/pull-requests/1`
    const anchor = { commit: source_commit, path: 'dolphins.txt', first_line: 1 }
    await place.ann.post(`${at}/comments`, { text: '', suggestion: 'whales', anchor })
    return {
      id: node.id,
      ask: (person) => person.post(`${at}/suggestions`, { comments: [1], expected_source_commit: source_commit }),
      // The file of the branch, and the entry that names its commit, as the service and git have them.
      state: async (person) => {
        const { body } = await person.get(`${at}/comments/1`)
        const { pr } = (await person.get(at)).body
        const entry = JSON.parse(node.git.say('show', 'refs/grove/ledger:reviews/0/0/1/0/1.json'))
        const head = node.git.head('dolphins')
        const isOld = head === source_commit && entry.applied === undefined && body.applied_commit === undefined
        if (isOld && pr.source_commit === head) return 'old'
        const found = [entry.applied?.commit, body.applied_commit, pr.source_commit]
        const isNew = found.every((commit) => commit === head) && entry.resolved && body.resolved_at
        if (isNew && node.git.say('show', 'dolphins:dolphins.txt') === 'whales') return 'new'
        // A reader needs no lock. The lock of the dead process says that the next writer finishes its work.
        const isHalf = found.slice(0, 2).every((commit) => commit === undefined) && pr.source_commit === head
        if (isHalf && existsSync(join(node.git.dir, 'refs/grove/ledger.lock'))) return 'old'
        return `between: the branch is at ${head}, ${JSON.stringify({ found, entry, body })}`
      },
      git: node.git,
      repeated: [200],
    }
  },
  'a draft': async ({ dataDir, ann, living }) => {
    const owner = client(living, ann.session.accessToken)
    // A repository in which a sync has failed takes no more writes.
    const { id: org } = expecting(201)(await owner.post('/orgs', { name: 'Atlas' })).body
    const at = `/orgs/${org}/drafts/${randomUUID()}`
    const body = { node_id: randomUUID(), title: 'Whales', text_content: 'Wha', expected_version: null }
    const { version } = expecting(200)(await owner.put(at, body)).body
    return {
      id: org,
      ask: (person) => person.put(at, { ...body, text_content: 'Whales', expected_version: version }),
      state: async (person) => {
        const { text_content } = expecting(200)(await person.get(at)).body
        return text_content === 'Wha' ? 'old' : text_content === 'Whales' ? 'new' : `between: ${text_content}`
      },
      git: gitIn({ dataDir }, org, 'org'),
      repeated: [200],
    }
  },
  'a close': async (place) => {
    const { node, root } = await freshNode(place)
    await node.proposal('dolphins')
    await node.open('dolphins')
    return {
      id: node.id,
      ask: (person) => person.patch(`${node.at}/pull-requests/1`, { status: 'closed' }),
      state: (person) =>
        pullState(person, node, {
          old: ['open', root, 'create,open 1'],
          new: ['closed', root, 'close 1,create,open 1'],
        }),
      git: node.git,
      repeated: [200],
    }
  },
  'an erasure': async (place) => {
    const { node } = await freshNode(place)
    const text = `secret ${node.id}`
    await node.proposal('dolphins')
    await node.open('dolphins')
    const path = `${node.at}/pull-requests/1`
    for (const said of ['First', text, 'Last']) await place.ann.post(`${path}/comments`, { text: said })
    return {
      id: node.id,
      ask: (person) => person.post(`${path}/entries/2/erase`, {}),
      // Old objects may be there after the text has left the ledger. Then a mark says so.
      state: async (person) => {
        const { status, body } = await person.get(`${path}/timeline?limit=200`)
        const said = status === 200 ? body.entries.map((one: Answer['body']) => one.comment?.text).join() : status
        const isThere = placesOf(node.git, text).length > 0
        if (said === `First,${text},Last`) return isThere ? 'old' : 'between: the objects are gone before the text'
        if (said !== 'First,,Last') return `between: ${said}`
        const isMarked =
          existsSync(join(node.git.dir, 'erasing')) && readdirSync(join(node.git.dir, 'erasing')).length > 0
        if (isThere && !isMarked) return 'between: the objects are there without a mark'
        return isThere ? 'old' : 'new'
      },
      git: node.git,
      repeated: [200],
    }
  },
  'the deletion of a branch with a request': async (place) => {
    const { node, root } = await freshNode(place)
    await node.proposal('dolphins')
    await node.open('dolphins')
    // Packed: the deletion then rewrites packed-refs too.
    node.git.say('pack-refs', '--all', '--prune')
    return {
      id: node.id,
      ask: (person) => person.delete(`${node.at}/branches/dolphins`),
      state: async (person) => {
        const state = await pullState(person, node, {
          old: ['open', root, 'create,open 1'],
          new: ['closed', root, 'close 1,create,open 1'],
        })
        const there = node.git.lines('for-each-ref', 'refs/heads/dolphins').length === 1
        return there === (state === 'old') ? state : `between: ${state}, the branch is ${there ? 'there' : 'gone'}`
      },
      git: node.git,
      repeated: [204, 'branch_not_found'],
    }
  },
  'the creation of a node': async ({ dataDir, ann }) => {
    const id = randomUUID()
    const parent = (await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Parent' })).body.id
    const body = { id, title: 'Whales', text_content: 'Whales sing', tags: ['sea'], parents: [parent] }
    return {
      id,
      ask: (person) => person.post(`/orgs/${ann.org}/nodes`, body),
      state: async (person) => {
        const { status, body } = await person.get(`/orgs/${ann.org}/nodes/${id}`)
        if (status === 404) return 'old'
        const whole = status === 200 && body.text_content === 'Whales sing' && body.parents[0]?.id === parent
        return whole ? 'new' : `between: ${status} ${JSON.stringify(body)}`
      },
      git: gitIn({ dataDir }, ann.org, id),
      repeated: [201, 'node_exists'],
    }
  },
  'the restoration of a node': async (place) => {
    const { node } = await freshNode(place)
    await place.ann.delete(node.at)
    return {
      id: node.id,
      ask: (person) => person.post(`/orgs/${node.org}/trash/${node.id}/restore`),
      state: (person) => trashState(person, node),
      git: node.git,
      repeated: [200, 'node_exists'],
    }
  },
  'a batch': async ({ dataDir, ann }) => {
    // More than are synced file by file.
    const ids = Array.from({ length: 5 }, () => randomUUID())
    const [first = ''] = ids
    const changed = (await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Parent' })).body.id
    const nodes = [
      ...ids.map((id, at) => ({
        id,
        title: `Whale ${at}`,
        text_content: 'Whales sing',
        parents: at === 0 ? [] : [first],
      })),
      { id: changed, title: 'Changed', connections: [{ target: first, id: 'first' }] },
    ]
    return {
      id: first,
      ask: (person) => person.put(`/orgs/${ann.org}/nodes/batch`, { nodes }),
      // A crash may leave some of the nodes, each whole; the batch was not acknowledged.
      state: async (person) => {
        const found = await Promise.all(nodes.map(({ id }) => person.get(`/orgs/${ann.org}/nodes/${id}`)))
        const isWhole = ({ status, body }: Answer, at: number) =>
          status === 200 &&
          body.title === nodes[at]?.title &&
          (at === ids.length || body.text_content === 'Whales sing')
        const isOld = ({ status, body }: Answer, at: number) =>
          at === ids.length ? body.title === 'Parent' : status === 404
        if (found.every(isWhole)) return 'new'
        const broken = found.find((answer, at) => !isWhole(answer, at) && !isOld(answer, at))
        return broken ? `between: ${broken.status} ${JSON.stringify(broken.body)}` : 'old'
      },
      git: gitIn({ dataDir }, ann.org, first),
      repeated: [200],
    }
  },
  'the acceptance of an invitation': async ({ dataDir, living }) => {
    const bob = await signUp(living, `Bob ${randomUUID()}`)
    const org = (await bob.post('/orgs', { name: 'Atlas' })).body.id
    const { token } = (await bob.post(`/orgs/${org}/invitations`, { role: 'editor' })).body
    const git = gitIn({ dataDir }, org, 'org')
    return {
      id: org,
      ask: (person) => person.post('/auth/invitations/accept', { token }),
      state: async (person) => {
        const { status, body } = await person.get(`/orgs/${org}`)
        const commits = git.lines('log', '--format=%s').join()
        if (status === 404 && ['create', 'join,create'].includes(commits)) return 'old'
        const whole = status === 200 && body.role === 'editor' && commits === 'join,create'
        return whole ? 'new' : `between: ${status} ${JSON.stringify(body)} after ${commits}`
      },
      git,
      // One use: a repeated request must find what the first has begun.
      repeated: [200],
    }
  },
  'the deletion of an account': async ({ dataDir, living, ann }) => {
    const [bob, cid] = [await signUp(living, `Bob ${randomUUID()}`), await signUp(living, `Cid ${randomUUID()}`)]
    await cid.put(`/orgs/${cid.org}/members/${bob.user.email}`, { role: 'editor' })
    await cid.put(`/orgs/${cid.org}/members/${ann.user.email}`, { role: 'reader' })
    const isBob = (member: { user_id: string }) => member.user_id === bob.user.id
    return {
      id: cid.org,
      ask: (person) => person.delete(`/admin/accounts/${bob.user.id}`),
      // Until the account goes, it may have left; a repetition goes on from there.
      state: async (person) => {
        const { status } = await person.get(`/admin/accounts/${bob.user.id}`)
        if (status === 200) return 'old'
        const isMember = (await person.get(`/orgs/${cid.org}/members`)).body.members.some(isBob)
        return status === 404 && !isMember ? 'new' : `between: ${status}, ${isMember ? 'a member' : 'no member'}`
      },
      git: gitIn({ dataDir }, cid.org, 'org'),
      repeated: [200, 'account_not_found'],
    }
  },
  'the deletion of a node': async (place) => {
    const { node } = await freshNode(place)
    return {
      id: node.id,
      ask: (person) => person.delete(node.at),
      state: async (person) => {
        const { status, body } = await person.get(node.at)
        if (status === 404) return 'new'
        return status === 200 && body.head === node.git.head() ? 'old' : `between: ${status} ${JSON.stringify(body)}`
      },
      git: node.git,
      repeated: [204, 'node_not_found'],
    }
  },
}

async function freshNode(place: Place): Promise<{ node: TestNode; root: string }> {
  const node = await newNode(place, place.ann)
  return { node, root: node.git.head() }
}

type Facts = readonly [status: string, main: string, ledger: string]

async function pullState(person: Client, node: TestNode, facts: { old: Facts; new: Facts }): Promise<State> {
  const { status, body } = await person.get(`${node.at}/pull-requests/1`)
  const ledger = node.git.lines('log', '--format=%s', 'refs/grove/ledger').sort().join()
  const found = [status === 200 ? body.pr.status : status, node.git.head(), ledger].join(' ')
  if (found === facts.old.join(' ')) return 'old'
  return found === facts.new.join(' ') ? 'new' : `between: ${found}`
}

/** The restored node is either served or in the trash. */
async function trashState(person: Client, { at, id, org }: TestNode): Promise<State> {
  const { status } = await person.get(at)
  const { nodes } = (await person.get(`/orgs/${org}/trash?limit=200`)).body
  const isTrashed = nodes.some((one: { id: string }) => one.id === id)
  if ((status === 200) === isTrashed) return `between: ${status}, and it is ${isTrashed ? '' : 'not '}in the trash`
  return isTrashed ? 'old' : 'new'
}
