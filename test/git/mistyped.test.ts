import { expect } from 'chai'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('git: a push of what is mistyped', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let node: TestNode
  let other: TestNode
  let desk: Desk
  let REMOTE: string

  before(async () => {
    node = await newNode(grove, ann)
    other = await newNode(grove, ann)
    desk = await newDesk()
    REMOTE = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    await desk.done('git clone -q $REMOTE whales', { REMOTE })
  })
  afterEach(() => desk.done('cd whales; git checkout -q -f main; git reset -q --hard origin/main; git clean -q -f -d'))
  after(() => desk.remove())

  /** The lines that git shows of a push of everything that `script` has made. */
  async function refused(script: string): Promise<string[]> {
    const head = node.git.head()
    const { code, text } = await desk.sh(
      `cd whales; ${script}; git add -A; git commit -q -m Bad; git push origin main`,
      {
        OTHER: other.id,
        UPPER: other.id.toUpperCase(),
      },
    )
    expect(code, text).to.equal(1)
    expect(node.git.head()).to.equal(head)
    return text.split('\n')
  }

  const noParent = 'Not a valid parent file. The name must be `<node id>.json`, in lower case'
  const noConnection =
    'Not a valid connection file. The name must be 1 to 64 letters, digits, - or _, followed by .json'

  for (const [name, reason] of [
    ['parents/x.json', noParent],
    ['parents/$OTHER', noParent],
    ['parents/$UPPER.json', noParent],
    ['parents/$OTHER.JSON', noParent],
    ['connections/a b.json', noConnection],
    ['connections/a.Json', noConnection],
    ['connections/é.json', noConnection],
  ] as const)
    it(`names ${name}, which is not an edge`, async () => {
      const lines = await refused(`mkdir -p parents connections; echo '{}' > "${name}"`)
      const path = name.replace('$UPPER', other.id.toUpperCase()).replace('$OTHER', other.id)
      expect(lines).to.include(`remote: main: ${path}: ${reason}`)
    })

  it('is accepted if nobody meant an edge', async () => {
    await desk.done(
      `cd whales; mkdir -p parents/old connections; touch parents/README.md parents/old/x.json connections/index.ts
       git add -A; git commit -q -m Files; git push -q origin main`,
    )
    expect((await ann.get(`${node.at}/tree/main`)).body.total).to.equal(4)
  })

  it('is refused with the same words over REST', async () => {
    const refusal = async (path: string) => {
      const change = { action: 'put', path, content: '{}' }
      const { status, body } = await ann.post(`${node.at}/tree/main/commits`, { message: 'Bad', changes: [change] })
      return [status, body.detail[0].loc, body.detail[0].msg]
    }
    expect(await refusal('parents/x.json')).to.deep.equal([422, ['body', 'changes', 0], `parents/x.json: ${noParent}`])
    expect(await refusal('connections/a b.json')).to.deep.equal([
      422,
      ['body', 'changes', 0],
      `connections/a b.json: ${noConnection}`,
    ])
  })

  it('may stay if it exists already, and may be deleted', async () => {
    const moved = await newNode(grove, ann)
    const files = { 'connections/a b.json': '{}', 'parents/x.json': '{}' }
    moved.git.point('main', moved.git.commit({ files, parents: [moved.git.head()] }))
    await moved.commit('main', { 'a.txt': 'a' })
    await moved.branch('draft')
    await moved.commit('draft', { 'connections/a b.json': null })
    await moved.commit('main', { 'parents/x.json': null, 'connections/a b.json': '{"another": "one"}' })
  })

  it('names the fields of node.json that would be lost, and their places', async () => {
    const lines = await refused(
      `printf '{"id": 123456789012345678901, "a": {"b": 1, "b": 2}, "title": "a\\\\u0007b"}' > node.json`,
    )
    expect(lines).to.include.members([
      'remote: main: node.json: JSON cannot store the number 123456789012345678901 at id exactly; write it as a string',
      'remote: main: node.json: The field a.b appears twice',
      'remote: main: node.json: `title` must be a non-blank string of 1 to 500 characters, without control characters',
    ])
  })

  it.deep('shows 100 letters of a very long target or path', async () => {
    const [long, end] = ['t'.repeat(99_999), 'e'.repeat(60)]
    const target = await refused(`mkdir -p connections; echo '{"target": "T${long}"}' > connections/a.json`)
    expect(target).to.include(
      `remote: main: connections/a.json: There is no node T${long.slice(0, 99)}… in this organisation`,
    )
    const folder = `${'d'.repeat(200)}/${'d'.repeat(200)}`
    const path = await refused(`mkdir -p ${folder}; printf x > "$(printf '${folder}/\\a${end}')"`)
    expect(path).to.include(`remote: main: ${'d'.repeat(100)}…: A path cannot contain control characters`)
    for (const line of [...target, ...path]) expect(line.length).to.be.below(300)
  })
})
