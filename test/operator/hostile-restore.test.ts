/** `grove restore` of copies that are not whole, not what they seem, or hostile: nothing is left out in silence. */
import { execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { grove as command, type Finished } from '../support/command.ts'
import { type Git, gitIn } from '../support/git.ts'
import { startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('grove restore', () => {
  let scratch: string
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'stranger' })
  let backup: string
  let nodes: TestNode[]

  before(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'grove-restore-'))
    nodes = []
    for (let n = 0; n < 9; n++) nodes.push(await newNode(grove, ann, { title: `Whale ${n}` }))
    backup = join(scratch, 'backup')
    expect((await command(grove.dataDir, 'backup', backup)).code).to.equal(0)
  })
  after(() => rm(scratch, { recursive: true, force: true }))

  it.deep('names every repository that is not one any more, and ends with 1', async () => {
    const copy = await copyOfBackup()
    const [headless, dangling, packed, gone, linked, hollow, bare] = nodes as [TestNode, ...TestNode[]] & TestNode[]
    const at = (node: TestNode | undefined, ...more: string[]) => join(copy, pathOf(node), ...more)
    await rm(at(headless, 'HEAD'))
    await rm(at(dangling, 'objects'), { recursive: true })
    await symlink('/nowhere', at(dangling, 'objects'))
    gitIn({ dataDir: copy }, ann.org, packed?.id ?? '').say('pack-refs', '--all')
    await rm(at(packed, 'refs'), { recursive: true })
    await rm(at(gone), { recursive: true })
    await rename(at(linked), join(scratch, 'elsewhere.git'))
    await symlink(join(scratch, 'elsewhere.git'), at(linked))
    await rm(at(hollow), { recursive: true })
    await mkdir(at(hollow))
    await rm(at(bare), { recursive: true })
    await writeFile(at(bare), 'no folder')
    const { code, stdout } = await restored(copy)
    expect({ code, wrong: wrongIn(stdout) }).to.deep.equal({
      code: 1,
      wrong: [
        [headless, 'is not a repository: HEAD is missing or not a file'],
        [dangling, 'is not a repository: objects is missing or not a folder'],
        [
          packed,
          'is not a repository: refs is missing or not a folder; if there is a file packed-refs, create an empty folder refs',
        ],
        [gone, 'is missing, but the manifest lists it'],
        [linked, 'is a symbolic link, not a folder, and was not read'],
        [
          hollow,
          'is not a repository: HEAD is missing or not a file, objects is missing or not a folder, refs is missing or not a folder',
        ],
        [bare, 'is a file, not a folder, and was not read'],
      ]
        .map(([node, reason]) => `${pathOf(node as TestNode)}: ${reason}`)
        .sort(),
    })
    expect(stdout).to.contain(`2 organisations and ${nodes.length - 7} nodes restored from `)
    await mkdir(at(packed, 'refs'))
    expect((await restored(copy)).stdout).to.contain(`2 organisations and ${nodes.length - 6} nodes restored from `)
  })

  it.deep('opens no pipe, follows no link and reads no other folder, wherever a copy names one', async () => {
    const copy = await copyOfBackup()
    const [ref, head, link, borrower, including, worktree] = nodes as [TestNode, ...TestNode[]] & TestNode[]
    const at = (node: TestNode | undefined, ...more: string[]) => join(copy, pathOf(node), ...more)
    const makePipe = async (path: string) => {
      await rm(path, { force: true })
      execFileSync('mkfifo', [path])
    }
    for (const node of [ref, link]) await mkdir(at(node, 'refs/heads'), { recursive: true })
    await makePipe(at(ref, 'refs/heads/main'))
    await makePipe(at(head, 'HEAD'))
    await symlink('/etc/hostname', at(link, 'refs/heads/other'))
    await mkdir(at(borrower, 'objects/info'), { recursive: true })
    await writeFile(at(borrower, 'objects/info/alternates'), `${at(nodes[8], 'objects')}\n`)
    await writeFile(at(including, 'config'), `[core] bare = true\n[core][InCLUDE] path = ${join(scratch, 'pipe')}\n`)
    await writeFile(at(worktree, 'commondir'), '/nowhere\n')
    const { code, stdout } = await restored(copy)
    expect({ code, wrong: wrongIn(stdout) }).to.deep.equal({
      code: 1,
      wrong: [
        [ref, 'refs/heads/main is a named pipe; a repository holds files and folders only'],
        [head, 'is not a repository: HEAD is missing or not a file'],
        [link, 'refs/heads/other is a symbolic link; a repository holds files and folders only'],
        [
          borrower,
          'it borrows objects from another folder (objects/info/alternates); git clone --mirror --no-local copies them',
        ],
        [including, 'config includes other files; remove its [include] sections'],
        [worktree, 'it is a worktree of another repository (commondir)'],
      ]
        .map(([node, reason]) => `${pathOf(node as TestNode)}: ${reason}`)
        .sort(),
    })
  })

  it.deep('does without accounts and a manifest that are not files', async () => {
    const copy = await copyOfBackup()
    for (const name of ['manifest.json', 'credentials.sqlite']) {
      await rm(join(copy, name))
      execFileSync('mkfifo', [join(copy, name)])
    }
    const { code, stdout } = await restored(copy)
    expect({ code, wrong: wrongIn(stdout).sort() }).to.deep.equal({
      code: 1,
      wrong: [
        'credentials.sqlite: is a named pipe, and was not read',
        'manifest.json: damaged, and was ignored: is a named pipe',
      ],
    })
    expect(stdout.match(/^\S+@example\.org grv_reset_/gm)).to.have.length(2)
  })

  for (const [what, text, reason] of [
    ['null', 'null', 'Invalid input: expected object, received null'],
    ['of another version', '{"format": 2}', 'format: this version of Grove does not know the format'],
    [
      'half right',
      '{"format":1,"created_at":"","gone":[],"repositories":[{"path":1}]}',
      'repositories: 0: path: Invalid input: expected string, received number',
    ],
    ['no JSON', '{', "Expected property name or '}' in JSON at position 1"],
  ] as const) {
    it(`does without a manifest that is ${what}`, async () => {
      const copy = await folder()
      await cp(join(backup, bob.org), join(copy, bob.org), { recursive: true })
      await writeFile(join(copy, 'manifest.json'), text)
      const { code, stdout, stderr } = await restored(copy)
      expect({ code, stderr }).to.deep.equal({ code: 1, stderr: '' })
      expect(stdout).to.contain(`\n1 problem found:\n  manifest.json: damaged, and was ignored: ${reason}`)
      expect(stdout).to.contain('1 organisation and 0 nodes restored from ')
    })
  }

  it.deep('names the file of a member that cannot be read, and loses nothing else of the organisation', async () => {
    const copy = await copyOfBackup()
    await writeOrg(copy, ann.org, {
      [`members/${bob.user.id}.json`]: '{"email": "bob@example.org",',
      'members/00000000-0000-4000-8000-000000000000.json':
        '{"email":"x@example.org","name":"X","role":"king","created_at":1}',
    })
    const target = await folder()
    const { code, stdout } = await command(target, 'restore', copy)
    expect(code).to.equal(1)
    expect(wrongIn(stdout)).to.include.members([
      `${ann.org}/org.git: members/00000000-0000-4000-8000-000000000000.json is damaged, so this member is skipped: role: Invalid option: expected one of "reader"|"contributor"|"editor"|"maintainer"|"owner"`,
      `${ann.org}/org.git: has other refs than the manifest lists`,
    ])
    expect(wrongIn(stdout).filter((line) => line.includes(`members/${bob.user.id}.json is damaged`))).to.have.length(1)
    expect(stdout).to.contain(`2 organisations and ${nodes.length} nodes restored from `)
    const doctor = await command(target, 'doctor')
    expect(doctor.code).to.equal(1)
    expect(wrongIn(doctor.stdout)).to.have.length(2)

    // Its service serves the others, and a change of theirs leaves the files to be mended.
    const again = await startGrove({ dataDir: target })
    try {
      const owner = client(again, ann.session.accessToken)
      const members = await owner.get(`/orgs/${ann.org}/members`)
      expect(members.body.members.map(({ email }: { email: string }) => email)).to.deep.equal(['ann@example.org'])
      expect((await owner.get(`/orgs/${ann.org}/nodes`)).body.total).to.equal(nodes.length)
      expect((await owner.patch(`/orgs/${ann.org}`, { name: 'Renamed' })).status).to.equal(200)
    } finally {
      await again.close()
    }
    expect(gitIn({ dataDir: target }, ann.org, 'org').lines('ls-tree', '--name-only', 'main:members')).to.have.length(3)
  })

  for (const [what, org] of [
    ['no JSON', '{"id"'],
    ['a number for a name', { name: 7 }],
    ['a text for a flag', { published: 'no' }],
    ['no time', { created_at: 'yesterday' }],
  ] as const) {
    it(`does not restore an organisation whose org.json has ${what}, and names what is wrong`, async () => {
      const copy = await folder()
      await cp(join(backup, bob.org), join(copy, bob.org), { recursive: true })
      const was = JSON.parse(gitIn({ dataDir: copy }, bob.org, 'org').say('show', 'main:org.json'))
      await writeOrg(copy, bob.org, { 'org.json': typeof org === 'string' ? org : JSON.stringify({ ...was, ...org }) })
      const { code, stdout } = await restored(copy)
      expect(code).to.equal(1)
      expect(wrongIn(stdout)).to.have.length(1)
      expect(wrongIn(stdout)[0]).to.match(new RegExp(`^${bob.org}/org.git: org.json is invalid: `))
      expect(stdout).to.contain('0 organisations and 0 nodes restored from ')
    })
  }

  it.deep('shows an invalid address as it is, in the line of one user', async () => {
    const copy = await folder()
    await cp(join(backup, bob.org), join(copy, bob.org), { recursive: true })
    const file = `members/${bob.user.id}.json`
    const was = JSON.parse(gitIn({ dataDir: copy }, bob.org, 'org').say('show', `main:${file}`))
    const email = 'bob@example.org\x1b[2J\nroot@example.org'
    await writeOrg(copy, bob.org, { [file]: JSON.stringify({ ...was, email }) })
    const { stdout } = await restored(copy)
    const [line, ...more] = stdout.split('\n').filter((one) => one.includes('grv_reset_'))
    expect(line).to.match(/^bob@example\.org\\u001b\[2J\\u000aroot@example\.org grv_reset_/)
    expect(more).to.deep.equal([])
  })

  it.deep('keeps what a newer version wrote into org.json', async () => {
    const copy = await folder()
    await cp(join(backup, bob.org), join(copy, bob.org), { recursive: true })
    const was = JSON.parse(gitIn({ dataDir: copy }, bob.org, 'org').say('show', 'main:org.json'))
    await writeOrg(copy, bob.org, { 'org.json': JSON.stringify({ ...was, motto: 'Deep' }) })
    expect((await restored(copy)).code).to.equal(0)
  })

  it.deep('takes one of two nodes with one id, the older, and names the other', async () => {
    const [stolen] = nodes as [TestNode]
    const theirs = `${bob.org}/${stolen.id}.git`
    const copies = [
      { created: Date.now() + 1000, kept: { org: ann.org, path: pathOf(stolen) }, left: theirs },
      { created: 0, kept: { org: bob.org, path: theirs }, left: pathOf(stolen) },
    ]
    for (const { created, kept, left } of copies) {
      const copy = await copyOfBackup()
      await cp(join(copy, pathOf(stolen)), join(copy, theirs), { recursive: true })
      const git = gitIn({ dataDir: copy }, bob.org, stolen.id)
      claim(git, { id: stolen.id, org_id: bob.org, title: 'Mine', created_at: new Date(created).toISOString() })
      const { code, stdout } = await restored(copy)
      expect({ code, wrong: wrongIn(stdout) }).to.deep.equal({
        code: 1,
        wrong: [
          `${left}: skipped: its id ${stolen.id} is also that of a node of the organisation ${kept.org} (${kept.path})`,
        ],
      })
      expect(stdout).to.contain(`2 organisations and ${nodes.length} nodes restored from `)
    }
  })

  it('says that a folder without a repository has none', async () => {
    const empty = await folder()
    const { code, stdout } = await restored(empty)
    expect({ code, wrong: wrongIn(stdout) }).to.deep.equal({ code: 1, wrong: [`${empty}: contains no repository`] })
  })

  it.deep('may be run again if it was broken off, once what it left is removed', async () => {
    const target = await folder()
    expect((await command(target, 'reindex')).code).to.equal(0)
    await mkdir(join(target, 'restoring'))
    expect((await command(target, 'restore', backup)).code).to.equal(2)
    await rm(join(target, 'restoring'), { recursive: true })
    expect((await command(target, 'restore', backup)).code).to.equal(0)
    expect(await readdir(target)).to.not.include('restoring')
  })

  async function folder(): Promise<string> {
    return mkdtemp(join(scratch, 'folder-'))
  }

  async function copyOfBackup(): Promise<string> {
    const copy = join(await folder(), 'copy')
    await cp(backup, copy, { recursive: true })
    return copy
  }

  async function restored(from: string): Promise<Finished> {
    return command(await folder(), 'restore', from)
  }
})

function pathOf(node: TestNode | undefined): string {
  return `${node?.org}/${node?.id}.git`
}

/** The problems that a command has named. */
function wrongIn(stdout: string): string[] {
  return (stdout.split(' found:\n')[1] ?? '').split('\n').flatMap((line) => (line === '' ? [] : [line.trim()]))
}

/** A commit by hand upon org.git's main. */
async function writeOrg(dataDir: string, org: string, files: Record<string, string>): Promise<void> {
  const git = gitIn({ dataDir }, org, 'org')
  git.point('main', git.commit({ files, parents: [git.head()] }))
}

/** Lets the ledger say that the repository is another node. */
function claim(git: Git, record: object): void {
  const ledger = git.say('rev-parse', 'refs/grove/ledger')
  const commit = git.commit({ files: { 'node.json': JSON.stringify(record) }, parents: [ledger] })
  git.say('update-ref', 'refs/grove/ledger', commit)
}
