import { expect } from 'chai'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { client, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('git: what a push cannot do', () => {
  after(async () => {
    await desk.remove()
    node.git.fsck()
  })
  const { grove, ann } = useWorld({ ann: 'owner' })
  let node: TestNode
  let desk: Desk
  let REMOTE: string

  before(async () => {
    node = await newNode(grove, ann, { text_content: 'Whales are mammals.\n' })
    desk = await newDesk()
    REMOTE = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    await desk.done('git clone -q $REMOTE whales', { REMOTE })
  })
  afterEach(() => desk.done('cd whales; git checkout -q -f main; git reset -q --hard origin/main; git clean -q -f -d'))

  /** Git's output for a push that ends with 1, without the URL. */
  async function refused(script: string): Promise<string> {
    const { code, text } = await desk.sh(`cd whales; ${script}`)
    expect(code, text).to.equal(1)
    return text.replace(/^(To|error: failed to push some refs to) .*\n/gm, '')
  }

  it.deep('rewind main, or delete it', async () => {
    const head = node.git.head()
    expect(await refused('git commit -q --amend -m Rewritten; git push -f origin HEAD:main')).to.equal(
      ' ! [remote rejected] HEAD -> main (`main` cannot be rewound (non-fast-forward). Pull first, then push)\n',
    )
    expect(await refused('git push origin :main')).to.equal(' ! [remote rejected] main (`main` cannot be deleted)\n')
    expect(node.git.head()).to.equal(head)
  })

  const contents: Record<string, { script: string; told: string }> = {
    'node.json that is no JSON': {
      script: `printf '{\\n  "title": "x",\\n}\\n' > node.json`,
      told: 'node.json: This file is not valid JSON: line 3: ',
    },
    'node.json with a word that JSON does not know': {
      script: `printf '{\\n  "title": x\\n}\\n' > node.json`,
      told: 'node.json: This file is not valid JSON: line 2: ',
    },
    'a tree without node.json': {
      script: 'git rm -q node.json',
      told: "node.json: This file cannot be deleted, because it holds the node's title, tags and properties",
    },
    'content.md with NUL': {
      script: `printf 'a\\0b' > content.md`,
      told: 'content.md: This file contains a NUL character',
    },
    'node.json as a symbolic link': {
      script: 'ln -sf content.md node.json',
      told: 'node.json: This must be a regular file',
    },
    'an executable content.md': { script: 'chmod +x content.md', told: 'content.md: This must be a regular file' },
    'content.md that is not UTF-8': {
      script: `printf '\\377' > content.md`,
      told: 'content.md: This file is not valid UTF-8',
    },
    'a parent that is no node': {
      script: 'mkdir parents; echo {} > parents/00000000-0000-4000-8000-000000000000.json',
      told: 'parents/00000000-0000-4000-8000-000000000000.json: There is no node 00000000-0000-4000-8000-000000000000',
    },
    'a connection without a target': {
      script: 'mkdir connections; echo {} > connections/a.json',
      told: 'connections/a.json: `target` must be the id of a node',
    },
    'names that differ in case only': {
      script: 'echo > Content.md',
      told: 'content.md: The name differs from Content.md only in case',
    },
    'folders that differ in case only': {
      script: 'mkdir -p a/b A/c; echo > a/b/x; echo > A/c/x',
      told: 'a: The name differs from A only in case',
    },
    'a control character in a name': {
      script: `echo > "$(printf 'bell\\aname')"`,
      told: 'bell\\u0007name: A path cannot contain control characters',
    },
    'a backslash in a name': { script: `echo > 'a\\b'`, told: 'a\\b: A path cannot contain backslashes' },
  }
  for (const [what, { script, told }] of Object.entries(contents)) {
    it(`bring ${what}: the file and the reason are shown, nothing moves`, async () => {
      const head = node.git.head()
      const said = await refused(`${script}; git add -A; git commit -q -m Bad; git push origin main`)
      expect(said).to.include(`remote: main: ${told}`)
      expect(said).to.include(` ! [remote rejected] main -> main (${told}`)
      expect(node.git.head()).to.equal(head)
    })
  }

  it('close a cycle', async () => {
    const child = await newNode(grove, ann, { title: 'Child', parents: [node.id] })
    expect(
      await refused(
        `mkdir parents; echo {} > parents/${child.id}.json; git add -A; git commit -q -m Cycle; git push origin main`,
      ),
    ).to.include(
      `(parents/${child.id}.json: Node ${child.id} is already below this node, so this parent would create a cycle)`,
    )
  })

  it.deep('touch refs but branches and tags, or such as git refuses', async () => {
    for (const ref of ['refs/grove/ledger', 'refs/grove/pulls/1', 'refs/notes/commits', 'refs/pull/1/head'])
      expect(await refused(`git push origin HEAD:${ref}`)).to.equal(
        ` ! [remote rejected] HEAD -> ${ref} (only branches and tags can be pushed (refs/heads/ and refs/tags/))\n`,
      )
    const oid = 'a'.repeat(40)
    expect(await refused(`git push origin HEAD:refs/heads/${oid}`)).to.include('cannot look like an object id')
    expect(await refused('git push origin HEAD:refs/heads/HEAD')).to.include("cannot be called 'HEAD'")
    expect(await refused('git push origin HEAD:refs/tags/-x')).to.include("A tag name cannot begin with '-'")
    await node.branch('a')
    expect(await refused('git push origin HEAD:refs/heads/a/b')).to.include('a ref with a conflicting name exists')
    expect(node.git.lines('for-each-ref', '--format=%(refname)')).to.deep.equal([
      'refs/grove/ledger',
      'refs/heads/a',
      'refs/heads/main',
    ])
  })

  it.deep('point a branch at a tag or a tree', async () => {
    const script = 'git tag -a -m x annotated 2> /dev/null || true; git push origin annotated:refs/heads/tagged'
    expect(await refused(script)).to.include('a branch must point to a commit')
    expect(await refused('git push origin HEAD^{tree}:refs/heads/tree')).to.include('a branch must point to a commit')
  })

  it.deep('take the good refs of a push down with a bad one, unless it is atomic', async () => {
    const script =
      'echo good > good; git add -A; git commit -q -m Good; git branch -f good; echo } > node.json; git commit -q -am Bad; git branch -f bad'
    const together = await refused(`${script}; git push --atomic origin good bad`)
    expect(together).to.include('good -> good (refs/heads/bad was refused, and the push is atomic)')
    expect(together).to.include('bad -> bad (node.json: This file is not valid JSON')
    expect(node.git.lines('branch', '--list', 'good', 'bad')).to.deep.equal([])
    const apart = await refused('git push origin good bad')
    expect(apart).to.include(' * [new branch]      good -> good\n')
    expect(apart).to.include('bad -> bad (node.json: This file is not valid JSON')
    expect(node.git.lines('branch', '--list', 'good', 'bad')).to.deep.equal(['  good'])
  })

  it.deep('move what has moved since the fetch', async () => {
    await node.commit('main', { 'news.txt': 'News\n' })
    expect(await refused('git commit -q --allow-empty -m Mine; git push origin main')).to.match(
      /! \[(remote )?rejected\] +main -> main/,
    )
    await desk.done('cd whales; git pull -q --rebase; git push -q origin main')
  })

  it.deep(
    'bring a file larger than 100 MiB, or a history that strict fsck refuses, with the object named',
    async () => {
      const big = await refused(
        'head -c 110000000 /dev/zero > big; git add -A; git commit -q -m Big; git push origin main',
      )
      expect(big).to.match(/^remote: big \(blob [0-9a-f]{40}\) has 110000000 bytes; at most 104857600 are possible$/m)
      expect(big).to.include('! [remote rejected] main -> main (pre-receive hook declined)')
      const odd = await refused(`
      oid=$(printf 'tree %s\\nauthor A <a@b> 0 +0000\\ncommitter A <a@b> 00 +0000\\n\\nodd\\n' $(git rev-parse HEAD^{tree}) |
        git hash-object -t commit -w --literally --stdin)
      git push origin $oid:refs/heads/odd`)
      expect(odd).to.match(/object [0-9a-f]{40}: zeroPaddedDate/)
      expect(odd).to.not.include(grove.dataDir)
    },
  )

  it.deep(
    'move main of an organisation that requires pull requests, but by a maintainer to the head of one',
    async () => {
      await ann.patch(`/orgs/${node.org}`, { require_pull_requests: true })
      const direct = 'git commit -q --allow-empty -m Direct; git push origin main'
      expect(await refused(direct)).to.include(
        '(main of this organisation moves only to the head of an open pull request)',
      )
      await desk.done(
        'cd whales; git checkout -q -b proposed; git commit -q --allow-empty -m Proposed; git push -q origin proposed',
      )
      const { number } = await node.open('proposed', { is_draft: true })
      expect(await refused('git push origin proposed:main')).to.match(
        /moves only to the head of an open pull request\)[\s\S]*remote: main: Pull request \d+: http|remote: main: Pull request \d+: http[\s\S]*moves only to the head/,
      )
      await ann.patch(`${node.at}/pull-requests/${number}`, { is_draft: false })
      const eve = await signUp(grove, 'Eve')
      await ann.put(`/orgs/${node.org}/members/eve@example.org`, { role: 'editor' })
      const EVES = remoteUrl(grove, node.org, node.id, eve.session.accessToken)
      expect(await refused(`git push ${EVES} proposed:main`)).to.include(
        '(You need the maintainer role; yours is editor)',
      )
      expect(await desk.done('cd whales; git push -q origin proposed:main')).to.include(
        `Pull request ${number} is merged`,
      )
      await ann.patch(`/orgs/${node.org}`, { require_pull_requests: false })
    },
  )

  it('be made by a reader, a stranger or nobody', async () => {
    const push = async (url: string) => {
      const { code, text } = await desk.sh(`cd whales; git commit -q --allow-empty -m x; git push ${url} HEAD:x`)
      return { code, text: text.replaceAll(url, 'URL').replace(/http:[^\s']+/g, 'URL') }
    }
    const rex = await signUp(grove, 'Rex')
    const url = remoteUrl(grove, node.org, node.id, rex.session.accessToken)
    expect(await push(url)).to.deep.equal({
      code: 128,
      text: "remote: Organisation not found\nfatal: repository 'URL' not found\n",
    })
    await ann.put(`/orgs/${node.org}/members/rex@example.org`, { role: 'reader' })
    expect((await push(url)).text).to.include('You need the contributor role; yours is reader')
    expect((await push(remoteUrl(grove, node.org, node.id))).text).to.include('could not read Username')
    expect((await push(remoteUrl(grove, node.org, node.id, 'grv_nonsense'))).text).to.include('Authentication failed')
    const { status, headers } = await client(grove).get(
      `/git/${node.org}/${node.id}.git/info/refs?service=git-receive-pack`,
    )
    expect([status, headers['www-authenticate']]).to.deep.equal([401, 'Basic realm="Grove", charset="UTF-8"'])
  })

  it.deep('be made by somebody who has been removed', async () => {
    const max = await signUp(grove, 'Max')
    await ann.put(`/orgs/${node.org}/members/max@example.org`, { role: 'editor' })
    const url = remoteUrl(grove, node.org, node.id, max.session.accessToken)
    await desk.done(`cd whales; git commit -q --allow-empty -m x; git push -q ${url} HEAD:max`)
    await ann.delete(`/orgs/${node.org}/members/max@example.org`)
    expect((await desk.sh(`cd whales; git commit -q --allow-empty -m y; git push ${url} HEAD:max`)).text).to.include(
      'not found',
    )
  })
})
