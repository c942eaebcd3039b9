/** The content of the package that `npm pack` makes, and that it runs once installed. */
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { connectHttp, tokenOf } from '../mcp/scene.ts'
import { startLiar } from '../oidc/liar.ts'
import { made } from '../support/cast.ts'
import { type Finished, outcomeOf } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { expecting } from '../support/node.ts'
import { type Package, pack, unpack } from '../support/packed.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { startMailServer } from '../support/smtp.ts'
import { spawnGrove } from '../support/spawned-grove.ts'

const run = promisify(execFile)

describe('the package', () => {
  let scratch: string
  let packed: Package
  /** As `npm install --global` links it. */
  let bin: string
  let home: string

  before(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'grove-package-'))
    home = join(scratch, 'lib/node_modules/grove')
    packed = await pack(join(scratch, 'checkout'))
    await unpack(packed, home)
    await symlink(resolve('node_modules'), join(home, 'node_modules'))
    await mkdir(join(scratch, 'bin'))
    bin = join(scratch, 'bin/grove')
    await symlink('../lib/node_modules/grove/server/bin/grove', bin)
  })
  after(() => rm(scratch, { recursive: true, force: true }))

  it('holds what runs, its licences and its documents, and nothing else', async () => {
    const isFile = (file: string) => /\.\w+$/.test(file)
    const handbook = (await readdir('server/demo/handbook', { recursive: true })).filter(isFile)
    const withoutHashes = packed.paths.map((file) => file.replace(/^(dist\/assets\/.*)\.[A-Z0-9]{8}\./, '$1.'))
    // What several scripts share is in chunks.
    expect([...new Set(withoutHashes)].sort()).to.deep.equal(
      [
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'dist/LICENSES.txt',
        'dist/assets/assets.json',
        ...[
          ...['attachments.js', 'bell.js', 'cards.js', 'chunk.js', 'colours.js', 'contents.js', 'copy.js'],
          ...['diagram-frame.js', 'diagram-part.js'],
          ...['diagrams.js', 'editor.js', 'editor-completion.js', 'editor-panel.js', 'editor-search.js'],
          ...['editor-tools.js', 'formulas.js', 'import.js', 'invitation.js', 'linking.js'],
        ].flatMap(withCompressed),
        'dist/assets/inter-latin-wght-normal.woff2',
        'dist/assets/leaf.svg',
        ...[
          'map.js',
          'map-titles.js',
          'menu.js',
          'orgs.js',
          'page.js',
          'preview.js',
          'quick.js',
          'review.js',
          'search.js',
          'set.js',
          'shortcuts.js',
        ].flatMap(withCompressed),
        'dist/assets/source-serif-4-latin-wght-italic.woff2',
        'dist/assets/source-serif-4-latin-wght-normal.woff2',
        ...[
          'stored-draft.js',
          'style.css',
          'suggest.js',
          'switcher.js',
          'theme.js',
          'times.js',
          'tree.js',
          'tree-move.js',
        ].flatMap(withCompressed),
        'dist/assets/welcome-dark.webp',
        'dist/assets/welcome-light.webp',
        ...[
          'cli',
          'colours',
          'first',
          'formulas',
          'import',
          'main',
          'mcp',
          'nodemailer',
          'openid-client',
          'passwords',
          'pg',
        ].flatMap((name) => [`dist/${name}.cjs`, `dist/${name}.cjs.map`]),
        'dist/documents.json',
        'dist/openapi.json',
        'dist/cli.js',
        'dist/client/api.d.ts',
        'dist/client/client.d.ts',
        'dist/client/client.js',
        'dist/client/errors.d.ts',
        'dist/client/operations.d.ts',
        'dist/client/package.json',
        'dist/client/types.d.ts',
        'dist/commit',
        'dist/domain/embeddings/embed-worker.cjs',
        'dist/domain/embeddings/embed-worker.cjs.map',
        'dist/domain/embeddings/scrub-worker.cjs',
        'dist/domain/embeddings/scrub-worker.cjs.map',
        'dist/features/graph/graph-worker.cjs',
        'dist/features/graph/graph-worker.cjs.map',
        'dist/domain/indexing/read-worker.cjs',
        'dist/domain/indexing/read-worker.cjs.map',
        'dist/domain/search/search-worker.cjs',
        'dist/domain/search/search-worker.cjs.map',
        'dist/main.js',
        'dist/package.json',
        'gitstore/transfer/hooks/pre-receive',
        'gitstore/transfer/hooks/proc-receive',
        'npm-shrinkwrap.json',
        'package.json',
        'server/bin/grove',
        'server/deploy/Caddyfile',
        'server/deploy/Dockerfile',
        'server/deploy/Dockerfile.dockerignore',
        'server/cli/commands/README.md',
        'server/deploy/README.md',
        'server/deploy/alerts.yml',
        'server/deploy/cells.md',
        'server/deploy/check-links.sh',
        'server/deploy/sign-in.md',
        'server/deploy/site.mjs',
        'server/deploy/configuration.md',
        'server/deploy/leaks.md',
        'server/deploy/metrics.md',
        'server/deploy/personal-data.md',
        'server/deploy/troubleshooting.md',
        ...handbook.map((file) => join('server/demo/handbook', file)),
        'server/mcp/README.md',
        'server/pages/grove.png',
        'server/features/vault/README.md',
        'repos/README.md',
        'SECURITY.md',
        'spec/README.md',
        'spec/errors.md',
        'spec/events.md',
        'spec/git.md',
        'spec/limits.md',
        'spec/permissions.md',
        'spec/types.md',
        'server/deploy/compose.yaml',
        'server/deploy/grafana.json',
        'server/deploy/grove.service',
        'server/deploy/nginx.conf',
        'spec/openapi.yaml',
      ].sort(),
    )
  })

  it('has no link in its documents to a file that it does not hold', async () => {
    const broken: string[] = []
    for (const document of packed.paths.filter((file) => file.endsWith('.md'))) {
      const text = (await readFile(join(home, document), 'utf8')).replaceAll(/^```[\s\S]*?^```$/gm, '')
      for (const [, link = ''] of text.matchAll(/\]\((?![a-z]+:|#)([^)#]+)[^)]*\)/g))
        if (!packed.paths.includes(join(dirname(document), link))) broken.push(`${document}: ${link}`)
    }
    expect(broken).to.deep.equal([])
  })

  it('names the version of every package that it needs to run, as tested, and of no other', async () => {
    const folder = join(scratch, 'checkout')
    const read = async (name: string) => JSON.parse(await readFile(join(folder, name), 'utf8'))
    const [{ dependencies, optionalDependencies }, lock, shrinkwrap] = await Promise.all([
      read('package.json'),
      read('package-lock.json'),
      read('npm-shrinkwrap.json'),
    ])
    const [root, ...installed] = Object.entries<{ version: string; dev?: boolean }>(shrinkwrap.packages)
    expect(root?.[1])
      .to.deep.include({ dependencies, optionalDependencies })
      .and.to.not.have.property('devDependencies')
    for (const [path, entry] of installed) expect(entry).to.deep.equal(lock.packages[path])
    const names = installed.map(([path]) => path)
    expect(names).to.include.members(
      Object.keys({ ...dependencies, ...optionalDependencies }).map((name) => `node_modules/${name}`),
    )
    expect(names).to.not.include.members(['node_modules/typescript', 'node_modules/mocha'])
    expect(installed.filter(([, { dev }]) => dev === true)).to.deep.equal([])
    await run(process.execPath, ['server/build/shrinkwrap.js', 'remove'], { cwd: folder })
    expect(await readdir(folder)).to.not.include('npm-shrinkwrap.json')
  })

  it('names the licence of every package that is bundled', async () => {
    const terms = [...(await readFile('dist/LICENSES.txt', 'utf8')).matchAll(/^\S+ \d+\.\d+\.\d+\S* \((.*)\)$/gm)]
    const names = new Set(terms.flatMap(([, one = '']) => one.replace(/[()]/g, '').split(/ AND | OR |, /)))
    expect(terms.length).to.be.greaterThan(100)
    const free = [
      'MIT',
      'MIT-0',
      'ISC',
      'OFL-1.1',
      'Apache-2.0',
      'BSD-2-Clause',
      'BSD-3-Clause',
      'BlueOak-1.0.0',
      'Zlib',
      'Unlicense',
      // DOMPurify, which also has the Apache License.
      'MPL-2.0',
      'in its readme',
    ]
    expect([...names].filter((name) => !free.includes(name))).to.deep.equal([])
  })

  it('installs what its bundles load from files, and no package that they contain', async () => {
    const { dependencies, optionalDependencies } = JSON.parse(await readFile('package.json', 'utf8'))
    const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8'))
    const licences = await readFile('dist/LICENSES.txt', 'utf8')
    const bundled = [...licences.matchAll(/^(\S+) \d+\.\d+\.\d+\S* \(.*\)$/gm)].map(([, name = '']) => name)
    expect(bundled).to.include.members(['@codemirror/view', '@fontsource-variable/inter', 'express'])
    expect(Object.keys({ ...dependencies, ...optionalDependencies })).to.have.members([
      'argon2',
      'better-sqlite3',
      'better-sqlite3-node20',
      'swagger-ui-dist',
    ])
    const ours = Object.keys(packages).filter(
      (path) => path !== '' && !packages[path].dev && !packages[path].devOptional,
    )
    expect(bundled.filter((name) => ours.includes(`node_modules/${name}`))).to.deep.equal([])
  })

  it('has the service in one bundle, so that commands start fast', async () => {
    const isIn = async (bundle: string) => (await readFile(`dist/${bundle}.cjs`, 'utf8')).includes('/express/')
    expect(await isIn('main')).to.equal(true)
    expect(await isIn('cli')).to.equal(false)
    expect(await isIn('first')).to.equal(false)
  })

  it('compiles SQLite for Node 20 alone: the other release has its binaries in the package', async () => {
    const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8'))
    // Two lines that npm does not write: after an update of the package by npm, write them again.
    // npm leaves out an optional package whose engines do not match; the package itself names every Node.
    expect(packages['node_modules/better-sqlite3-node20'].engines).to.deep.equal({ node: '20.x' })
    // npm runs node-gyp, which needs Python, for a package with a binding.gyp, unless the lock says what the package says.
    expect(packages['node_modules/better-sqlite3'].gypfile).to.equal(false)
    const withScripts = Object.keys(packages).filter((path) => packages[path].hasInstallScript && !packages[path].dev)
    expect(withScripts).to.have.members(
      ['@scarf/scarf', 'argon2', 'better-sqlite3-node20'].map((name) => `node_modules/${name}`),
    )
  })

  it('says in one line that SQLite is missing if no script of a package may run', async () => {
    const home = join(scratch, 'without-binaries')
    await unpack(packed, home)
    await mkdir(join(home, 'node_modules'))
    for (const name of ['argon2', 'swagger-ui-dist', 'bindings', 'file-uri-to-path'])
      await symlink(resolve('node_modules', name), join(home, 'node_modules', name))
    const compiled = 'node_modules/better-sqlite3-node20'
    const isBuilt = (path: string) => path.startsWith(resolve(compiled, 'build'))
    if (existsSync(compiled))
      await cp(resolve(compiled), join(home, compiled), { recursive: true, filter: (path) => !isBuilt(path) })
    const service = spawn(process.execPath, [join(home, 'dist/main.js')], {
      env: { ...process.env, DATA_DIR: join(scratch, 'data-without'), PORT: '0' },
    })
    const { code, stdout, stderr } = await outcomeOf(service)
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    expect(stderr).to.match(
      /^The service cannot start: SQLite is not installed for Node v\S+ \(\S+\); install Grove again.*\n$/,
    )
  })

  it('tells its version by the link that npm makes', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8'))
    const { code, stdout, stderr } = await outcomeOf(spawn(bin, ['--version'], { cwd: scratch }))
    expect([code, stderr]).to.deep.equal([0, ''])
    const built = existsSync('.git') ? / \([0-9a-f]{12}(-dirty)?\)\n$/ : /\n$/
    expect(stdout).to.match(built)
    expect(stdout.replace(built, '')).to.equal(version)
  })

  it('runs the demo', async () => {
    const env = { ...process.env, DATA_DIR: join(scratch, 'demo'), PORT: '0', DATABASE_URL: '' }
    const child = spawn(bin, ['demo'], { cwd: scratch, env })
    const finished = outcomeOf(child)
    const url = await new Promise<string>((heard, failed) => {
      child.stdout.on('data', (chunk) => {
        const [, open] = /^Open (\S+)$/m.exec(String(chunk)) ?? []
        if (open !== undefined) heard(open)
      })
      child.once('exit', () => failed(new Error('it ended before it listened')))
    })
    expect(await fetch(url).then((answer) => answer.text())).to.include('65 pages')
    child.kill('SIGTERM')
    expect((await finished).code).to.equal(0)
  })

  describe('that serves', () => {
    let url: string
    let pid: number
    let ann: PersonClient
    let stop: () => Promise<Finished>

    before(async () => {
      const dataDir = join(scratch, 'data')
      const child = spawn(bin, ['serve'], { cwd: scratch, env: { ...process.env, DATA_DIR: dataDir, PORT: '0' } })
      const finished = outcomeOf(child)
      stop = () => {
        child.kill('SIGTERM')
        return finished
      }
      pid = child.pid ?? 0
      url = await new Promise((heard, failed) => {
        child.stdout.once('data', (chunk) => heard(/http:\S+/.exec(String(chunk))?.[0] ?? ''))
        child.once('exit', () => failed(new Error('it ended before it listened')))
      })
      ann = await signUp({ url }, 'Ann')
    })
    after(async () => {
      await stop()
    })

    it('has 16 threads for the disk', async () => {
      expect((await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0')).to.include('UV_THREADPOOL_SIZE=16')
    })

    it('finds its spec, its pages, its hooks and the thread that draws graphs', async () => {
      const anyone = client({ url })
      expect((await anyone.get('/openapi.json')).status).to.equal(200)
      for (const page of ['/docs', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js'])
        expect((await anyone.get(page)).status, page).to.equal(200)
      const { id, clone_url } = (await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Whales' }).then(expecting(201)))
        .body
      const remote = clone_url ?? `${url}/git/${ann.org}/${id}.git`
      const clone = join(scratch, 'whales')
      const git = (...args: string[]) =>
        run('git', [
          ...['-c', `http.extraHeader=Authorization: Bearer ${ann.session.accessToken}`],
          ...['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', ...args],
        ])
      await git('clone', '-q', remote, clone)
      await git('-C', clone, 'commit', '-q', '--allow-empty', '-m', 'By push')
      await git('-C', clone, 'push', '-q', 'origin', 'HEAD:main')
      const { history } = (await ann.get(`/orgs/${ann.org}/nodes/${id}/tree/main/commits`)).body
      expect(history[0].message).to.equal('By push')
      await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
      expect((await anyone.get(`/public/orgs/${ann.org}/graph`)).body.total_nodes).to.equal(1)
    })

    it('checks requests by the spec, the second of a kind as the first', async () => {
      for (let n = 0; n < 2; n++)
        expect((await ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 7 })).status).to.equal(422)
    })

    it('loads what few requests need at their first one', async () => {
      const [mail, provider] = [await startMailServer(), await startLiar()]
      const environment = {
        ...{ PUBLIC_URL: 'http://127.0.0.1', SMTP_URL: mail.url, MAIL_FROM: 'grove@example.org' },
        ...{ OIDC_LIAR_ISSUER: provider.issuer, OIDC_LIAR_CLIENT_ID: 'grove', OIDC_LIAR_CLIENT_SECRET: 'secret' },
      }
      const other = await spawnGrove(await newDataDir(), environment)
      const weak = { email: 'bob@example.org', name: 'Bob', password: '1234567890' }
      expect((await client(other).post('/auth/signup', weak)).status).to.equal(422)
      const bob = await signUp(other, 'Bob')
      expect((await mail.verificationTo(weak.email)).from).to.equal('grove@example.org')
      expect((await client(other).get('/sign-in/oidc/liar')).headers.location).to.include(provider.issuer)
      const text_content = 'Let $x^2$ be\n\n```js\nlet a = 1\n```\n'
      const node = await made(bob.post(`/orgs/${bob.org}/nodes`, { title: 'Whales', text_content }))
      await bob.patch(`/orgs/${bob.org}`, { published: true }).then(expecting(200))
      const { body } = await readPage(client(other), pageAt(bob.org, node))
      expect(body).to.include('<math>').and.to.include('hljs-keyword')
      const token = await tokenOf('read', {}, bob)
      expect(await (await connectHttp(token, undefined, other)).ask('list_nodes', { org_id: bob.org })).to.include(
        'Whales',
      )
      for (const path of ['/docs/limits', '/openapi.json']) expect((await bob.get(path)).status, path).to.equal(200)
      expect(await other.stop()).to.equal(0)
      await Promise.all([mail.close(), provider.close()])
    })

    it('says the next step and the address on standard output and only JSON on standard error', async () => {
      const { code, stdout, stderr } = await stop()
      expect(code).to.equal(0)
      expect(stdout).to.match(/\nGrove is listening on http:\/\/127\.0\.0\.1:\d+\n$/)
      const lines = stderr.trimEnd().split('\n')
      expect(lines.length).to.be.greaterThan(5)
      for (const line of lines) expect(JSON.parse(line)).to.be.an('object')
    })
  })
})

/** As a browser takes it, and as others do. */
function withCompressed(asset: string): string[] {
  return ['', '.br', '.gz'].map((ending) => `dist/assets/${asset}${ending}`)
}
