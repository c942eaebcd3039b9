/** The commits at which branches with rules begin, and the tags that a published organisation shows. */

import { expect } from 'chai'
import { remoteUrl } from '../support/desk.ts'
import { exchange } from '../support/exchange.ts'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { client } from '../support/people.ts'
import { ann, aProposal, bob, gitIn, grove, type Rule, setRules, useDoors, withToken } from './doors.ts'

const asked = (more: object = {}): Rule => ({ branches: ['release/**'], approvals: 1, ...more })
const onMain = (more: object = {}): Rule => ({ branches: ['main'], approvals: 1, ...more })
const because = (branch: string) => `${branch} begins only at a commit of a branch whose rules are as strict`

describe('a new branch under a rule', () => {
  useDoors()

  it('begins only at a commit that rules as strict have let in', async () => {
    const { node } = await aProposal()
    await setRules(onMain(), asked())
    const make = (who: typeof bob, name: string, from: string) =>
      who.post(`${node.at}/branches`, { name, from }).then(({ status, body }) => [status, body.code ?? body.name])
    expect(await make(bob, 'release/1', 'draft')).to.deep.equal([409, 'pull_request_required'])
    const script = 'git push -q $REMOTE draft:release/1 main:release/2'
    const pushed = await gitIn(node, bob.session.accessToken, script)
    expect(pushed.text).to.include(`draft -> release/1 (${because('release/1')})`)
    expect(node.git.head('release/2')).to.equal(node.git.head())
    expect(await make(bob, 'release/3', 'main')).to.deep.equal([201, 'release/3'])
    expect(await make(bob, 'release/4', 'release/2')).to.deep.equal([201, 'release/4'])
    // An owner may override the rules, but by no token.
    const token = (await withToken(ann)) as typeof bob
    expect(await make(token, 'release/5', 'draft')).to.deep.equal([409, 'pull_request_required'])
    await setRules(onMain(), asked({ override: 'nobody' }))
    expect(await make(ann, 'release/5', 'draft')).to.deep.equal([409, 'pull_request_required'])
    await setRules(onMain(), asked())
    expect(await make(ann, 'release/5', 'draft')).to.deep.equal([201, 'release/5'])
  })

  const checks = [{ name: 'links' }]
  const pairs: readonly (readonly [string, readonly Rule[], number])[] = [
    ['more approvals', [onMain({ approvals: 2 }), asked()], 201],
    ['fewer approvals', [onMain(), asked({ approvals: 2 })], 409],
    ['a higher role', [onMain({ by: { role: 'maintainer' } }), asked()], 201],
    ['a lower role', [onMain(), asked({ by: { role: 'maintainer' } })], 409],
    ['the same checks', [onMain({ checks }), asked({ checks })], 201],
    ['no check', [onMain(), asked({ checks })], 409],
    ['no rule', [asked()], 409],
    ['a rule for all branches', [{ branches: ['**'], approvals: 1 }, asked()], 201],
  ]
  it('compares rules', async () => {
    const { node } = await aProposal()
    const found = []
    for (const [at, [name, rules]] of pairs.entries()) {
      await setRules(...rules)
      found.push([name, (await bob.post(`${node.at}/branches`, { name: `release/${at}` })).status])
      await setRules()
      await bob.delete(`${node.at}/branches/release%2F${at}`)
    }
    expect(found).to.deep.equal(pairs.map(([name, , status]) => [name, status]))
    const all = { branches: ['**'], approvals: 1, override: 'nobody' as const }
    await setRules(all)
    await bob.post(`${node.at}/branches`, { name: 'any', from: 'draft' }).then(expecting(201))
    // A commit that may begin a branch under the pattern for all names may not begin one that a rule names.
    await setRules(all, asked({ override: 'nobody' }))
    const named = await bob.post(`${node.at}/branches`, { name: 'release/last', from: 'any' })
    expect([named.status, named.body.code]).to.deep.equal([409, 'pull_request_required'])
  })
})

describe('tags of a published organisation', () => {
  useDoors()

  it.deep('are shown to anonymous callers if main contains their commit, once a rule holds for main', async () => {
    const { node } = await aProposal()
    const tags = 'git tag good main; git tag evil draft; git tag -a -m X noted draft; git push -q $REMOTE --tags'
    expect((await gitIn(node, bob.session.accessToken, tags)).text).to.equal('')
    // Git sends no token where none is asked for.
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    const blob = node.git.say('rev-parse', 'draft:draft.txt')
    const seen = async (who: ReturnType<typeof client>) => {
      const status = async (path: string) => (await who.get(`${node.at}${path}`)).status
      const first = await exchange(`${grove.url}${pageAt(node.org, node.id)}?at=evil`, {})
      const { location } = first.headers
      const found = location === undefined ? first : await exchange(new URL(location, grove.url).href, {})
      return {
        names: (await who.get(`${node.at}/tags`)).body.tags.map(({ name }: { name: string }) => name),
        paths: await Promise.all(
          ['/tree/evil/raw/draft.txt', '/tree/noted', '/tree/evil/commits', `/objects/${blob}`].map(status),
        ),
        page: found.status,
        listed: (
          await gitIn(node, bob.session.accessToken, `git ls-remote --tags ${remoteUrl(grove, node.org, node.id)}`)
        ).text,
      }
    }
    const all = await seen(client(grove))
    expect(all.names).to.deep.equal(['evil', 'good', 'noted'])
    await setRules(onMain())
    const some = await seen(client(grove))
    expect(some.names).to.deep.equal(['good'])
    expect(some.page).to.equal(404)
    expect(some.listed).to.include('refs/tags/good').and.not.include('evil').and.not.include('noted')
    expect({ page: all.page, paths: all.paths }).to.deep.equal({ page: 200, paths: [200, 200, 200, 200] })
    expect(some.paths).to.deep.equal([404, 404, 404, 404])
    expect((await bob.get(`${node.at}/tags`)).body.total).to.equal(3)
    const url = remoteUrl(grove, node.org, node.id)
    const fetch = `git init -q --bare other; git -C other fetch -q ${url} ${node.git.head('draft')}`
    const fetched = await gitIn(node, bob.session.accessToken, fetch)
    expect(fetched.text).to.include('not our ref')
  })
})
