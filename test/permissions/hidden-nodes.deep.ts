/** Repositories in place whose nodes are not there for readers: only proposed, or deleted. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { cli } from '../operator/desk.ts'
import { made } from '../support/cast.ts'
import { expectSound } from '../support/data-folder.ts'
import type { Grove } from '../support/grove.ts'
import { pageAt } from '../support/pages.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { specOperations } from '../support/permissions.ts'
import { proposeNode, recordNode, shownOperations } from '../support/proposed.ts'
import { differencesOf, makeWorlds, reads, type WorldCaller, type Worlds } from './worlds.ts'

const word = 'xylophone'
const members = ['a reader', 'an owner']
/** A proposed node counts for the quotas, and its pull request in the navigation. Only members see either. */
const counts = /"usage":\{[^}]*\}|\d+ pages and [\d.]+ KB|Proposals <span class="n">\d+/g

interface Made {
  readonly ann: PersonClient
  readonly rob: PersonClient
  readonly sue: PersonClient
  readonly org: string
  readonly krill: string
  readonly whales: string
}

async function prepare(grove: Grove): Promise<Made> {
  const ann = await signUp(grove, 'Ann')
  const rob = await signUp(grove, 'Rob')
  const sue = await signUp(grove, 'Sue')
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
  return { ann, rob, sue, org, krill, whales }
}

const hidden = randomUUID()

/** Puts the repository of a node in place that has a parent, a link, a tag, a file and the word, in this state. */
function hide(state: 'proposed' | 'deleted') {
  return async (dataDir: string, { ann, org, whales, krill }: Made) => {
    const files = {
      'content.md': `A ${word} in [[Whales]].`,
      [`${word}.md`]: word,
      [`parents/${krill}.json`]: '{}',
      'connections/one.json': JSON.stringify({ target: whales, type: 'links_to', label: word }),
    }
    const title = `A ${word}`
    const node = proposeNode({ dataDir }, org, { id: hidden, by: ann.user, title, files, fields: { tags: [word] } })
    if (state === 'deleted') recordNode(node, { state, title })
  }
}

/** Pages with lists of open pull requests, with the proposed node, or with the pushes to it that were refused. */
const pagesOfMembers = /^\/o\/[^/]+(\/(proposals|settings\/audit|a-xylophone-[^?]*))?$|^\/$|^\/me\/sessions$/
const toolsOnNode = /^(history|diff|list_proposals|read_discussion) /
const toolsOnLists = /^(list_proposals|waiting) /

/** True for a request by which members may see a proposed node, or its pull request in a list. */
function isShown(org: string, params: Readonly<Record<string, string>>, request: string): boolean {
  const [path = ''] = request.split('?')
  const ofNode = specOperations.flatMap(({ id, path: template }) =>
    shownOperations.includes(id)
      ? template.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'node_id' ? hidden : (params[name] ?? 'none')))
      : [],
  )
  const lists = ['pull-requests', 'waiting', 'audit'].map((list) => `/orgs/${org}/${list}`)
  if (toolsOnNode.test(request) && request.includes(hidden)) return true
  if (toolsOnLists.test(request) && !request.includes('node_id')) return true
  if (path.startsWith(`/git/${org}/${hidden}.git/`)) return true
  return [...ofNode, ...lists, '/waiting'].includes(path) || pagesOfMembers.test(path)
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

        it(`changes no answer${state === 'proposed' ? ', except of what members read of a proposal' : ''}`, async () => {
          const { ann, rob, sue, org, krill, whales } = worlds.made
          const params = {
            ...{ org_id: org, branch: 'main', path: 'content.md', number: '1', entry: '1', type_name: 'recipe' },
            ...{ email: ann.user.email, commit_id: '0'.repeat(40), object_id: '0'.repeat(40), name: 'links' },
          }
          const pages = [pageAt(org), `${pageAt(org)}/find?q=${word}`, `${pageAt(org)}/trash`]
          const mayDiffer = ({ name }: WorldCaller, request: string) =>
            state === 'proposed' &&
            ((members.includes(name) && isShown(org, params, request)) ||
              (name === 'an owner' && /\/(repositories|clone-urls)$/.test(request)))
          const asked = { params, nodes: [krill, whales, hidden], pages, word, ignored: counts, mayDiffer }
          const callers = [
            { name: 'anyone' },
            { name: 'a stranger', token: sue.session.accessToken },
            { name: 'a reader', token: rob.session.accessToken },
            { name: 'an owner', token: ann.session.accessToken },
          ]
          const found: string[] = []
          for (const caller of callers) {
            const { compared, differing } = await differencesOf(worlds, caller, asked)
            expect(compared).to.be.greaterThan(reads)
            found.push(...differing)
          }
          expect(found.slice(0, 20), `of ${found.length}`).to.deep.equal([])
        })

        it('keeps its id, takes no change, and is no fault', async () => {
          const { ann, org, krill } = worlds.made
          const who = client(worlds.hiding, ann.session.accessToken)
          const at = `/orgs/${org}/nodes`
          expect((await who.post(at, { id: hidden, title: 'Mine' })).body.code).to.equal('node_exists')
          expect((await who.patch(`${at}/${hidden}`, { title: 'Mine' })).body.code).to.equal('node_not_found')
          expect((await who.put(`${at}/${krill}/parents/${hidden}`, {})).body.code).to.equal('parent_not_found')
          await expectSound(worlds.hiding.dataDir)
          const { code, stdout } = await cli(worlds.hiding.dataDir, 'doctor')
          expect(code, stdout).to.equal(0)
        })
      })
})
