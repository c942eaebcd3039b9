/** Operations of rules, checks and suggestions whose every step is tried. Pull requests are proposed to a branch with rules. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Answer, type PersonClient, signUp } from '../support/people.ts'
import type { Operation, Place, State } from './point-operations.ts'

const target = 'ruled'
const reason = 'The site is down'

export const consentOperations: Readonly<Record<string, Operation>> = {
  'a merge that overrides rules': async (place) => {
    const { node, path, base, head } = await proposal(place)
    return {
      id: node.id,
      ask: (person) => person.post(`${path}/merge`, { override: { reason } }),
      state: async (person) => {
        const { pr } = (await person.get(path)).body
        const found = [pr.status, node.git.head(target), pr.overridden?.reason, subjectsOf(node)]
        return oneOf(found, [
          ['open', base, undefined, 'create,open 1'],
          ['merged', head, reason, 'create,merge 1,open 1'],
        ])
      },
      git: node.git,
      repeated: [200],
    }
  },
  'a push that merges under rules': async (place) => {
    const { node, path, base, head, reviewer } = await proposal(place)
    const review = { verdict: 'approve', text: 'Read.', expected_source_commit: head }
    await reviewer.post(`${path}/reviews`, review).then(expecting(201))
    return {
      id: node.id,
      ask: (_, door) => push(place, door, node, head),
      state: async (person) => {
        const { pr } = (await person.get(path)).body
        return oneOf(
          [pr.status, node.git.head(target), subjectsOf(node)],
          [
            ['open', base, 'create,open 1,review 1 1'],
            ['merged', head, 'create,merge 1,open 1,review 1 1'],
          ],
        )
      },
      git: node.git,
      repeated: [200],
    }
  },
  'the application of a suggestion': async (place) => {
    const { node, path, head, reviewer } = await proposal(place)
    const anchor = { commit: head, path: 'draft.txt', first_line: 1, num_lines: 1 }
    await reviewer.post(`${path}/comments`, { text: '', suggestion: 'sung', anchor }).then(expecting(201))
    return {
      id: node.id,
      ask: (person) => person.post(`${path}/suggestions`, { comments: [1], expected_source_commit: head }),
      state: async (person) => {
        const [thread] = (await person.get(`${path}/threads`)).body.threads
        const now = node.git.head('draft')
        const { applied_commit: applied } = thread.comments[0]
        const found = [node.git.say('show', 'draft:draft.txt'), applied, thread.is_resolved, subjectsOf(node)]
        const others = ['comment 1 1', 'create', 'open 1']
        return now === head
          ? oneOf(found, [['draft', undefined, false, others.join()], []])
          : oneOf(found, [[], ['sung', now, true, ['apply 1 1', ...others].join()]])
      },
      git: node.git,
      repeated: [200],
    }
  },
  'the report of a check': async (place) => {
    const { node, head } = await proposal(place)
    const at = `${node.at}/checks/${head}`
    return {
      id: node.id,
      ask: (person) => person.put(`${at}/links`, { state: 'success' }),
      state: async (person) => {
        const [check] = (await person.get(at)).body.checks
        return oneOf(
          [check?.state, subjectsOf(node)],
          [
            [undefined, 'create,open 1'],
            ['success', `check ${head} links,create,open 1`],
          ],
        )
      },
      git: node.git,
      repeated: [200],
    }
  },
}

/** A proposal that lacks an approval. */
async function proposal(place: Place) {
  const reviewer = await reviewerOf(place)
  const node = await newNode(place, place.ann)
  const base = await node.branch(target)
  const head = await node.proposal('draft')
  const { number } = await node.open('draft', { target_branch: target })
  return { node, base, head, path: `${node.at}/pull-requests/${number}`, reviewer }
}

const reviewers = new WeakMap<Place, Promise<PersonClient>>()

/** Another member, who has not proposed. Sets the rules when it is made. */
function reviewerOf(place: Place): Promise<PersonClient> {
  const known = reviewers.get(place)
  if (known !== undefined) return known
  const making = makeReviewer(place)
  reviewers.set(place, making)
  return making
}

async function makeReviewer({ ann, living }: Place): Promise<PersonClient> {
  const reviewer = await signUp(living, 'Bob')
  await ann.put(`/orgs/${ann.org}/members/${reviewer.user.email}`, { role: 'editor' }).then(expecting(200))
  await ann.patch(`/orgs/${ann.org}`, { rules: [{ branches: [target], approvals: 1 }] }).then(expecting(200))
  return reviewer
}

let desk: Promise<Desk> | undefined

/** Pushes the head to the target. A push that ends without success is answered as 503. */
async function push({ ann }: Place, door: { readonly url: string }, node: TestNode, head: string): Promise<Answer> {
  desk ??= newDesk()
  const { dir, done, sh } = await desk
  await done(`git init -q --bare ${node.id}`)
  // The clone has all objects of the node, so that it never fetches.
  await writeFile(join(dir, node.id, 'objects/info/alternates'), `${node.git.dir}/objects\n`)
  const url = remoteUrl(door, node.org, node.id, ann.session.accessToken)
  const { code, text } = await sh(`timeout 60 git -C ${node.id} push --porcelain ${url} ${head}:refs/heads/${target}`)
  return { status: code === 0 ? 200 : 503, body: { text }, headers: {} }
}

export async function removeDesk(): Promise<void> {
  await (await desk)?.remove()
}

function subjectsOf({ git }: TestNode): string {
  return git.lines('log', '--first-parent', '--format=%s', 'refs/grove/ledger').sort().join()
}

function oneOf(found: readonly unknown[], [before, after]: readonly [readonly unknown[], readonly unknown[]]): State {
  const said = JSON.stringify(found)
  if (said === JSON.stringify(before)) return 'old'
  return said === JSON.stringify(after) ? 'new' : `between: ${said}`
}
