/** Rules for a part of the graph outlast deletions and restores within it. */
import { expect } from 'chai'
import { grove as command } from '../support/command.ts'
import { expecting, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('a rule for a node and those below it', () => {
  const { grove, ann, max } = useWorld({ ann: 'owner', max: 'maintainer' })

  const setRules = (...rules: object[]) => ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
  afterEach(() => setRules())

  /** Three nodes, each below the one before. */
  async function chain(): Promise<[TestNode, TestNode, TestNode]> {
    const top = await ann.node({ title: 'Handbook' })
    const middle = await ann.node({ title: 'Chapter', parents: [top.id] })
    const leaf = await ann.node({ title: 'Page', parents: [middle.id] })
    return [top, middle, leaf]
  }
  const rule = ({ id }: TestNode) => ({ branches: ['main'], under: id, approvals: 1, pages: 'existing' })
  const restore = ({ id }: TestNode) => max.post(`/orgs/${ann.org}/trash/${id}/restore`)
  const isRuled = async ({ at }: TestNode) => (await max.get(at).then(expecting(200))).body.main_needs_pull_request

  it('is not ended by deleting a node between', async () => {
    const [top, middle, leaf] = await chain()
    await setRules(rule(top))
    expect(await max.delete(middle.at)).to.deep.equal({
      status: 409,
      body: {
        detail:
          'A rule holds for the nodes below this node only because of its place. Delete them or give them another parent first',
        code: 'rule_would_end',
      },
    })
    expect(await isRuled(leaf)).to.equal(true)
    await max.delete(top.at).then(expecting(204))
    expect(await isRuled(leaf)).to.equal(true)
    await max.delete(leaf.at).then(expecting(204))
    await max.delete(middle.at).then(expecting(204))
  })

  it('is not ended by restoring a node without its parent', async () => {
    const [top, middle, leaf] = await chain()
    await setRules(rule(top))
    for (const { at } of [leaf, middle]) await max.delete(at).then(expecting(204))
    const detail = `Its parent ${middle.id} is in the trash, and rules of this organisation depend on parents. Restore the parent first`
    expect(await restore(leaf)).to.deep.equal({ status: 409, body: { detail, code: 'rule_would_end' } })
    for (const node of [middle, leaf]) await restore(node).then(expecting(200))
    expect(await isRuled(leaf)).to.equal(true)
  })

  it.deep('binds the operator, who restores a node only after its parent', async () => {
    const [top, middle, leaf] = await chain()
    await setRules(rule(top))
    for (const { at } of [leaf, middle]) await max.delete(at).then(expecting(204))
    const { code, stdout, stderr } = await command(grove.dataDir, 'restore-node', `${leaf.org}/${leaf.id}`)
    expect(code).to.equal(1)
    expect(stdout + stderr).to.include('Restore the parent first')
  })

  it('lets nodes go if a change of parents needs no merge either, and without a rule', async () => {
    const [top, middle] = await chain()
    await setRules({ ...rule(top), branches: ['release/**'] })
    await max.delete(middle.at).then(expecting(204))
    const [other, between, below] = await chain()
    for (const { at } of [below, between]) await max.delete(at).then(expecting(204))
    await restore(below).then(expecting(409))
    await setRules()
    await restore(below).then(expecting(200))
    await max.delete(other.at).then(expecting(204))
  })
})
