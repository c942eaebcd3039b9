/** Pages are created, moved in, deleted and restored only by a proposal where a rule guards the place. */

import { expect } from 'chai'
import { gitIn as bareOf } from '../support/git.ts'
import { expecting, newNode } from '../support/node.ts'
import { imported, zipOf } from '../support/uploads.ts'
import {
  ann,
  bob,
  cy,
  gitIn,
  grove,
  headOf,
  kim,
  max,
  proposalOn,
  refsOf,
  review,
  setRules,
  useDoors,
  withToken,
} from './doors.ts'

const all = { branches: ['main'], approvals: 1, pages: 'all' }
const nodes = () => `/orgs/${ann.org}/nodes`

describe('a place that a rule guards', () => {
  useDoors()

  const change_sets = () => `/orgs/${ann.org}/change-sets`
  const refused = (detail: string, rules = [0]) => ({
    status: 409,
    body: { code: 'pull_request_required', detail, rules, change_sets: change_sets() },
  })

  it('takes no new page of an editor, and loses none to a maintainer', async () => {
    const area = await newNode(grove, ann, { title: 'Handbook' })
    const node = await newNode(grove, ann, { title: 'Krill', parents: [area.id] })
    await setRules({ branches: ['next'] }, { ...all, under: area.id })
    const before = refsOf(node)
    expect(await bob.post(nodes(), { title: 'Squid', parents: [area.id] })).to.deep.equal(
      refused(`Pages below “Handbook” are created by a proposal here: send the page to POST ${change_sets()}`, [1]),
    )
    expect(await max.delete(node.at)).to.deep.equal(
      refused(`“Krill” can only be deleted by a proposal: send it to POST ${change_sets()}`, [1]),
    )
    expect(refsOf(node)).to.equal(before)
    await bob.post(nodes(), { title: 'Elsewhere' }).then(expecting(201))
    const { status, body } = await kim.post(nodes(), { title: 'Squid', parents: [area.id] })
    expect([status, body.code, body.change_sets]).to.deep.equal([403, 'forbidden', change_sets()])
  })

  it('takes an existing page only with the consent of both places', async () => {
    const area = await newNode(grove, ann, { title: 'Handbook' })
    const node = await newNode(grove, ann)
    await node.branch('draft')
    await node.commit('draft', { [`parents/${area.id}.json`]: '{}' })
    const proposal = await proposalOn(node, 'draft')
    await setRules({ ...all, under: area.id })
    expect(await bob.put(`${node.at}/parents/${area.id}`, {})).to.deep.equal(
      refused('A page comes below “Handbook” only by a proposal: propose this change with a pull request'),
    )
    expect((await node.pull(proposal.number)).merge_reasons).to.deep.equal(['approvals_missing'])
    expect((await bob.post(`${proposal.path}/merge`)).body.code).to.equal('approvals_missing')
    await review(cy, proposal, 'approve')
    const head = await headOf(proposal)
    await bob.post(`${proposal.path}/merge`).then(expecting(200))
    expect(node.git.head()).to.equal(head)
  })

  it.deep('takes an existing page by a push only with this consent', async () => {
    const area = await newNode(grove, ann, { title: 'Handbook' })
    const node = await newNode(grove, ann)
    await node.branch('draft')
    await node.commit('draft', { [`parents/${area.id}.json`]: '{}' })
    const proposal = await proposalOn(node, 'draft')
    await setRules({ ...all, under: area.id })
    const push = () => gitIn(node, bob.session.accessToken, 'git push -q $REMOTE draft:main')
    expect((await push()).text).to.include('draft -> main (pull request 1 needs 1 more approval)')
    const other = 'git update-ref refs/heads/other $(git commit-tree -p main -m Other draft^{tree})'
    const unproposed = await gitIn(node, bob.session.accessToken, `${other}; git push -q $REMOTE other:main`)
    expect(unproposed.text).to.equal(
      'remote: main: Propose it: git push origin HEAD:sets/new\n' +
        ' ! [remote rejected] other -> main (pages below Handbook need a proposal)\n',
    )
    await review(cy, proposal, 'approve')
    const head = await headOf(proposal)
    expect((await push()).code).to.equal(0)
    expect(node.git.head()).to.equal(head)
  })

  it.deep('takes no page back that a change set has deleted, by its parents before that', async () => {
    const area = await newNode(grove, ann, { title: 'Handbook' })
    const node = await newNode(grove, ann, { title: 'Krill', parents: [area.id] })
    const body = { title: 'Tidy', deletions: [{ node_id: node.id }] }
    const { change_set } = (await ann.post(change_sets(), body).then(expecting(201))).body
    await ann.post(`${change_sets()}/${change_set.number}/merge`, {}).then(expecting(200))
    await setRules({ ...all, under: area.id })
    expect(await max.post(`/orgs/${ann.org}/trash/${node.id}/restore`)).to.deep.equal(
      refused(`“Krill” can only be restored by a proposal: send it to POST ${change_sets()}`),
    )
    await setRules()
    await max.post(`/orgs/${ann.org}/trash/${node.id}/restore`).then(expecting(200))
  })

  it('takes a whole repository neither by the first push nor by a first branch', async () => {
    const area = await newNode(grove, ann, { title: 'Handbook' })
    const node = await newNode(grove, ann, { initialize: false })
    await setRules({ ...all, under: area.id })
    const first = `n=$(echo '{"title":"Pushed"}' | git hash-object -w --stdin); p=$(echo '{}' | git hash-object -w --stdin)
      t=$(printf "100644 blob $p\\t${area.id}.json\\n" | git mktree)
      t=$(printf "100644 blob $n\\tnode.json\\n040000 tree $t\\tparents\\n" | git mktree); c=$(git commit-tree -m First $t)`
    const pushed = await gitIn(node, bob.session.accessToken, `${first}; git push -q $REMOTE $c:refs/heads/main`)
    expect(pushed.text).to.match(/ ! \[remote rejected\] \w+ -> main \(pages below Handbook need a proposal\)\n$/)
    expect(pushed.text).to.include('remote: main: Propose it: git push origin HEAD:sets/new\n')
    const proposed = await gitIn(node, bob.session.accessToken, `${first}; git push -q $REMOTE $c:refs/heads/sets/new`)
    expect(proposed.text).to.match(/^remote: Change set \d+ \(draft\), 1 page: /)
    const draft = await gitIn(node, bob.session.accessToken, `${first}; git push -q $REMOTE $c:refs/heads/draft`)
    expect(draft.code, 'another branch publishes nothing').to.equal(0)
    const { status, body } = await bob.post(`${node.at}/branches`, { name: 'main', from: 'draft' })
    expect([status, body.code]).to.deep.equal([409, 'pull_request_required'])
    expect(refsOf(node)).to.not.include('refs/heads/main')
  })

  it.deep('takes pages of an import only by an owner with a reason, who is recorded', async () => {
    const org = (await ann.post('/orgs', { name: 'Guarded', rules: [all] }).then(expecting(201))).body.id
    const zip = await zipOf({ 'Sea/krill.md': '# Krill\n', 'Sea/Deep/squid.md': '# Squid\n' })
    const { report } = await imported(ann, org, zip)
    expect(report?.created).to.deep.equal([])
    expect(JSON.stringify(report)).to.include('Pages are created by a proposal here')
    const at = `/orgs/${org}/imports?override=${encodeURIComponent('First import')}`
    const sent = async (by: typeof ann) => {
      const { status, body } = await by.post(at, zip, { 'content-type': 'application/zip' })
      return [status, body.code]
    }
    const token = await withToken(ann)
    expect(await sent(token as typeof ann)).to.deep.equal([403, 'token_scope'])
    await ann.put(`/orgs/${org}/members/${max.user.email}`, { role: 'maintainer' })
    expect(await sent(max)).to.deep.equal([403, 'forbidden'])
    const forced = await imported(ann, org, zip, '?override=First%20import')
    expect(forced.report).to.deep.include({ problems: [] })
    const { body } = await ann.get(`/orgs/${org}/nodes`).then(expecting(200))
    expect(body.total).to.be.greaterThan(2)
    for (const { id } of body.nodes) {
      const record = JSON.parse(bareOf(grove, org, id).say('show', 'refs/grove/ledger:node.json'))
      expect(record.overridden).to.deep.include({ by: { id: ann.user.id, name: 'Ann' }, reason: 'First import' })
    }
    const audit = (await ann.get(`/orgs/${org}/audit`).then(expecting(200))).body
    expect(JSON.stringify(audit)).to.include('org.imported')
  })
})
