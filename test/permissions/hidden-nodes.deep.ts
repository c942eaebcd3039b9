/** Repositories in place whose nodes are not there for readers: only proposed, or deleted. */

import { randomUUID } from 'node:crypto'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { expectSound } from '../support/data-folder.ts'
import { gitIn } from '../support/git.ts'
import type { Grove } from '../support/grove.ts'
import { pageAt } from '../support/pages.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { differencesOf, makeWorlds, reads, type Worlds } from './worlds.ts'

const word = 'xylophone'
/** A proposed node counts for the quotas, which members see. */
const usage = /"usage":\{[^}]*\}|\d+ pages and [\d.]+ KB/g

interface Made {
  readonly ann: PersonClient
  readonly rob: PersonClient
  readonly org: string
  readonly krill: string
  readonly whales: string
}

async function prepare(grove: Grove): Promise<Made> {
  const ann = await signUp(grove, 'Ann')
  const rob = await signUp(grove, 'Rob')
  const { id: org } = await made(ann.post('/orgs', { name: 'Atlas', published: true }))
  await made(ann.put(`/orgs/${org}/members/${rob.user.email}`, { role: 'reader' }))
  const nodeOf = async (title: string, rest: object): Promise<string> =>
    (await made(ann.post(`/orgs/${org}/nodes`, { title, ...rest }))).id
  const whales = await nodeOf('Whales', { text_content: 'They eat [[Krill]].', tags: ['sea'] })
  const krill = await nodeOf('Krill', { text_content: 'Small.', parents: [whales] })
  await made(ann.post(`/orgs/${org}/nodes/${whales}/connections`, { target: krill, type: 'links_to' }))
  await made(ann.post(`/orgs/${org}/nodes/${whales}/branches`, { name: 'draft' }))
  const changes = [{ action: 'put', path: 'content.md', content: 'They eat much [[Krill]].' }]
  await made(ann.post(`/orgs/${org}/nodes/${whales}/tree/draft/commits`, { message: 'Say more', changes }))
  await made(ann.post(`/orgs/${org}/nodes/${whales}/pull-requests`, { source_branch: 'draft', title: 'Say more' }))
  return { ann, rob, org, krill, whales }
}

const hidden = randomUUID()

/** Puts the repository of a node in place that has a parent, a child, a tag and the word, in this state. */
function hide(state: 'proposed' | 'deleted') {
  return async (dataDir: string, { org, whales, krill }: Made) => {
    await cp(join(dataDir, org, `${krill}.git`), join(dataDir, org, `${hidden}.git`), { recursive: true })
    const git = gitIn({ dataDir }, org, hidden)
    const write = (ref: string, files: Readonly<Record<string, string>>) =>
      git.say('update-ref', ref, git.commit({ files, parents: [git.say('rev-parse', ref)] }))
    const record = JSON.parse(git.say('show', 'refs/grove/ledger:node.json'))
    const title = `A ${word}`
    write('refs/grove/ledger', { 'node.json': JSON.stringify({ ...record, id: hidden, title, state }) })
    write('refs/heads/main', {
      'node.json': JSON.stringify({ title, tags: [word] }),
      'content.md': `A ${word} in [[Whales]].`,
      [`parents/${krill}.json`]: '{}',
      'connections/one.json': JSON.stringify({ target: whales, type: 'links_to', label: word }),
    })
    git.say('branch', word, 'main')
  }
}

describe('a node that is not there for readers', () => {
  for (const state of ['proposed', 'deleted'] as const)
    for (const isRebuilt of [false, true])
      describe(`because it is ${state}${isRebuilt ? ', and the index is rebuilt' : ''}`, () => {
        let worlds: Worlds & { readonly made: Made }

        before(async () => {
          worlds = await makeWorlds(prepare, hide(state), isRebuilt)
        })
        after(() => worlds?.close())

        it('changes no answer to anybody', async () => {
          const { ann, rob, org, krill, whales } = worlds.made
          const params = {
            ...{ org_id: org, branch: 'main', path: 'content.md', number: '1', entry: '1', type_name: 'recipe' },
            ...{ email: ann.user.email, commit_id: '0'.repeat(40), object_id: '0'.repeat(40), name: 'links' },
          }
          const pages = [pageAt(org), `${pageAt(org)}/find?q=${word}`, `${pageAt(org)}/trash`]
          const asked = { params, nodes: [krill, whales, hidden], pages, word, mayDiffer: usage }
          const callers = [
            { name: 'anyone' },
            { name: 'a reader', token: rob.session.accessToken },
            { name: 'an owner', token: ann.session.accessToken },
          ]
          for (const caller of callers) {
            const { compared, differing } = await differencesOf(worlds, caller, asked)
            expect(differing.slice(0, 20), `of ${differing.length}`).to.deep.equal([])
            expect(compared).to.be.greaterThan(reads)
          }
        })

        it('keeps its id, takes no change, and is no fault', async () => {
          const { ann, org, krill } = worlds.made
          const who = client(worlds.hiding, ann.session.accessToken)
          const at = `/orgs/${org}/nodes`
          expect((await who.post(at, { id: hidden, title: 'Mine' })).body.code).to.equal('node_exists')
          expect((await who.patch(`${at}/${hidden}`, { title: 'Mine' })).body.code).to.equal('node_not_found')
          expect((await who.put(`${at}/${krill}/parents/${hidden}`, {})).body.code).to.equal('parent_not_found')
          await expectSound(worlds.hiding.dataDir)
        })
      })
})
