import { execFile, execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { readConfig } from '../server/config.ts'
import { client } from './support/grove.ts'

const run = promisify(execFile)
const address = 'http://127.0.0.1:3000'
/** The tour speaks of jq; this one is there on every machine. */
const jq = resolve('test/support/jq.js')
const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

describe('the README', function () {
  this.timeout(300_000)
  let readme: string
  let clone: string
  let service: Started

  before(async () => {
    readme = await readFile('README.md', 'utf8')
    clone = await freshClone()
    service = await npmStart(clone)
  })
  after(async () => {
    await service.stop()
    await rm(clone, { recursive: true, force: true })
  })

  describe('the tour', () => {
    let said: string[]

    before(async () => {
      said = await tour(readme, clone, service.url)
    })

    it('signs up, and prepares two short hands', () => {
      expect(said.slice(0, 2)).to.deep.equal(['', ''])
    })

    it('makes a node, and another one below it', () => {
      const [node, ...more] = jsonOf(said[2])
      expect(more).to.deep.equal([])
      expect(node.parents[0].id).to.match(new RegExp(`^${uuid}$`))
      expect({ ...node, parents: node.parents.map((parent: { title: string }) => parent.title) }).to.deep.equal({
        title: 'Blue whale',
        parents: ['Whales'],
        num_ancestors: 1,
      })
    })

    it('clones a node, whose tree is its content', () => {
      expect(said[3]).to.match(
        /^Whales are marine mammals\.\n\{\n {2}"title": "Whales",\n[\s\S]*\n\}\n[0-9a-f]{7} Ann Create node\n$/,
      )
    })

    it('proposes a change and merges it', () => {
      const [head, modified, pull, merged, history] = jsonOf(said[4])
      expect(head).to.match(/^[0-9a-f]{40}$/)
      expect(modified.map((change: { entity_key: string }) => change.entity_key)).to.deep.equal(['content.md'])
      expect([pull, merged, history]).to.deep.equal([
        { number: 1, can_merge: true, merge_reason: 'mergeable' },
        { status: 'merged', merged_by: 'Ann' },
        { total: 2, messages: ['Dolphins too', 'Create node'] },
      ])
    })

    it('shows git the same history', () => {
      expect(said[5]).to.match(/^[0-9a-f]{7} Dolphins too\n[0-9a-f]{7} Create node\n$/)
    })

    it('pushes, merges by a push, and is told why another push is refused', () => {
      expect(said[6]).to.match(
        /^true\nremote: Pull request 2 is merged: And porpoises *\nremote: porpoises: node\.json: is not JSON: line 3: .*\nTo http.*\n ! \[remote rejected\] porpoises -> porpoises \(node\.json: is not JSON: line 3: .*\)\nerror: failed to push .*\n$/,
      )
    })

    it('searches, and takes in what is linked with the matches', () => {
      const [type, { matches, nodes, connections }] = jsonOf(said[7])
      expect(type).to.equal('is_a')
      expect(matches).to.have.length(1)
      expect(matches[0]).to.include({ title: 'Blue whale' })
      expect(matches[0].snippet).to.match(/^The largest animal known/)
      expect(matches[0].score).to.be.above(0)
      expect(nodes).to.deep.equal([
        { title: 'Blue whale', relation: 'match' },
        { title: 'Whales', relation: 'parent' },
      ])
      expect(connections).to.equal(2)
    })

    it('publishes the graph', () => {
      expect(jsonOf(said[8])).to.deep.equal([true, { org_name: 'Ann', total_nodes: 2, total_edges: 2 }])
    })

    it('imports a folder, and finds nothing to do the second time', () => {
      const summary = `notes \\(${uuid}\\): 4 nodes, 3 parent edges, 2 connections, 0 attachments\n`
      expect(said[9]).to.match(
        new RegExp(`^${summary}4 created, 0 updated, 0 unchanged\n${summary}0 created, 0 updated, 4 unchanged\n$`),
      )
    })

    it('makes the index again from Git alone', () => {
      expect(said[10]).to.equal('2 organisations and 6 nodes indexed\n"merged"\n')
    })

    it('has no further step', () => {
      expect(said).to.have.length(11)
    })

    it('survives that index.sqlite is deleted: the next start makes it again', async () => {
      const { accessToken, user } = JSON.parse(await readFile(join(clone, 'session.json'), 'utf8'))
      const graph = `/public/orgs/${user.org_id}/graph`
      const before = await client(service).get(graph)
      await service.stop()
      for (const end of ['', '-wal', '-shm']) await rm(join(clone, `repos/index.sqlite${end}`), { force: true })
      service = await npmStart(clone)
      expect(before.status).to.equal(200)
      expect(await client(service).get(graph)).to.deep.equal(before)
      const nodes = await client(service, accessToken).get(`/orgs/${user.org_id}/nodes`)
      const whales = nodes.body.nodes.find((node: { title: string }) => node.title === 'Whales')
      const pull = await client(service, accessToken).get(`/orgs/${user.org_id}/nodes/${whales.id}/pull-requests/1`)
      expect(pull.body.pr).to.include({ status: 'merged', merged_by: 'Ann' })
    })
  })

  describe('the tables', () => {
    it('name each variable of the environment, with its default', async () => {
      const source = await readFile('server/config.ts', 'utf8')
      const variables = [...source.matchAll(/^ {2}([A-Z_]+): z\./gm)].map((match) => match[1])
      const { port, host, dataDir, logLevel, rateLimit, workers, ...rest } = readConfig({})
      expect([dataDir, rest]).to.deep.equal([resolve('./repos'), {}])
      const defaults = [String(port), host, './repos', '', logLevel, rateLimit ? 'on' : 'off', String(workers)]
      expect(rows(readme, 'Configuration').map(([name, value]) => [name, value])).to.deep.equal(
        variables.map((name, at) => [`\`${name}\``, defaults[at]]),
      )
    })

    it('name each command, with its arguments and options', async () => {
      const { stdout } = await run(process.execPath, ['dist/cli.js', '--help'], { cwd: clone })
      const commands = [...stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}([\w-]+)/gm)].map(
        (match) => match[1],
      )
      const table = rows(readme, 'Commands').map(([usage = '']) => usage.replaceAll('`', ''))
      expect(table.map((usage) => usage.split(' ')[0])).to.deep.equal(commands.filter((name) => name !== 'help'))
      for (const usage of table) {
        const help = await run(process.execPath, ['dist/cli.js', 'help', usage.split(' ')[0] ?? ''], { cwd: clone })
        const words = (text: string, pattern: RegExp) => [...new Set(text.match(pattern) ?? [])].sort()
        expect(words(usage, /--\w+/g)).to.deep.equal(words(help.stdout, /--(?!help)\w+/g))
        const taken = /^Usage: grove [\w-]+ (.*)$/m.exec(help.stdout)?.[1]?.match(/(?<=<)\w+(?=>)/g) ?? []
        expect(words(usage.replace(/\[.*\]|--\w+ \w+/g, ''), /\b[A-Z]+\b/g)).to.deep.equal(
          taken.map((name) => name.toUpperCase()),
        )
      }
    })

    it('state the limits that the spec sets', async () => {
      const { info, components } = JSON.parse(await readFile('spec/openapi.json', 'utf8'))
      const { Title, Label, Tags, Message, Name, Password, Email, BranchName, FileChange, ...schemas } =
        components.schemas
      const { description } = schemas.NewPull.properties
      const { query, top_k: topK } = schemas.Retrieve.properties
      const { changes } = schemas.NewCommit.properties
      const page = components.parameters.limit.schema
      expect(Message.maxLength).to.equal(description.maxLength)
      expect(rows(readme, 'Limits').slice(0, 13)).to.deep.equal([
        ['title; label; tag', `${Title.maxLength}; ${Label.maxLength}; ${Tags.items.maxLength} characters`, '422'],
        ['tags of a node', `${Tags.maxItems}`, '422'],
        ['description, message', `${size(Message.maxLength)}, a message not blank`, '422'],
        ['query', `${size(query.maxLength)}, not blank`, '422'],
        ['`top_k`', `${topK.minimum}–${topK.maximum}`, '422'],
        ['e-mail address', `${Email.maxLength} characters`, '422'],
        [
          'name of a person or an organisation; password',
          `${Name.minLength}–${Name.maxLength}; ${Password.minLength}–${Password.maxLength} characters`,
          '422',
        ],
        [
          'personal access tokens',
          told(info.description, 'personal access tokens', /\d+ of a person/),
          told(info.description, 'personal access tokens', /409/),
        ],
        [
          'branch; path of a file',
          `${BranchName.maxLength}; ${grouped(FileChange.properties.path.maxLength)} bytes`,
          '422',
        ],
        [
          'changes of one commit; one file over REST',
          `${grouped(changes.maxItems)}; ${size(schemas.Text?.maxLength ?? 0)}`,
          '422',
        ],
        ['a body', told(info.description, 'request body', /\d+ MiB/), told(info.description, 'request body', /413/)],
        ['a page', `${page.minimum}–${page.maximum}, ${page.default} unless asked`, '422'],
        [
          'an expanded search',
          `${told(info.description, 'search', /\d+ nodes/)}, ${told(info.description, 'search', /\d+ MiB/)} of text`,
          '`truncated: true`',
        ],
      ])
    })

    it('state the rate limits that the spec describes and the service announces', async () => {
      const { info } = JSON.parse(await readFile('spec/openapi.json', 'utf8'))
      const stated = rows(readme, 'Limits').slice(13)
      expect(stated.map(([what, limit]) => [what, numbers(limit)])).to.deep.equal(
        rows(info.description, 'Rate limits').map(([what, limit]) => [what, numbers(limit)]),
      )
      const announced = async (path: string, body?: object) => {
        const { headers } = await (body ? client(service).post(path, body) : client(service).get(path))
        return headers['ratelimit-policy']
      }
      const nobody = { email: 'nobody@example.org', password: 'not a password' }
      expect([
        await announced('/auth/signup', { ...nobody, email: 'somebody@example.org' }),
        await announced('/auth/login', nobody),
        await announced('/public/orgs/nobody/graph'),
      ]).to.deep.equal([
        `"signup";q=${numbers(stated[0]?.[1])[0]};w=3600`,
        `"login";q=${numbers(stated[1]?.[1])[0]};w=60`,
        `"default";q=${numbers(stated[2]?.[1])[0]};w=60`,
      ])
    })

    it('name folders, files and scripts that are there', async () => {
      const { scripts } = JSON.parse(await readFile('package.json', 'utf8'))
      const linked = [...readme.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(
        (match) => match[1] ?? '',
      )
      const folders = rows(readme, 'Where things are').map(([name = '']) => name.replaceAll('`', ''))
      for (const path of [...linked, ...folders]) expect(existsSync(join(clone, path)), path).to.equal(true)
      for (const [, name = ''] of readme.matchAll(/npm (?:run (?:-s )?)?(?!ci|run)(\w+)/g))
        expect(scripts, `npm run ${name}`).to.have.property(name)
    })
  })
})

interface Started {
  readonly url: string
  stop(): Promise<void>
}

/** The files that a clone would have, the packages that `npm ci` would install. */
async function freshClone(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'grove-tour-'))
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'])
  for (const file of listed
    .toString()
    .split('\0')
    .filter((name) => name !== '' && existsSync(name)))
    await cp(file, join(folder, file))
  await symlink(resolve('node_modules'), join(folder, 'node_modules'))
  await mkdir(join(folder, 'bin'))
  await symlink(jq, join(folder, 'bin/jq'))
  return folder
}

/** `npm start` in `folder`, on any free port, with the rate limits on. */
async function npmStart(folder: string): Promise<Started> {
  const child = spawn('npm', ['start'], {
    cwd: folder,
    env: { ...environment(), PORT: '0', LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const ended = new Promise<void>((done) => child.once('exit', () => done()))
  let said = ''
  const url = new Promise<string>((found, failed) => {
    child.stderr.on('data', (chunk) => {
      said += chunk
    })
    child.stdout.on('data', (chunk) => {
      said += chunk
      const url = /listening on (http:\/\/\S+)\n/.exec(said)?.[1]
      if (url !== undefined) found(url)
    })
    child.once('exit', () => failed(new Error(`npm start ended before it listened:\n${said}`)))
  })
  const stop = async () => {
    // The whole group: npm, its shell and the service.
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
    await ended
  }
  return { url: await url, stop }
}

/** Without what this process or its user has set for Grove, npm and git: a stranger's shell. */
function environment(): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env
  return { PATH, HOME, LC_ALL: 'C', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' }
}

/** What each block of the tour prints, the tour run as one script; only the service's address is another. */
async function tour(readme: string, folder: string, url: string): Promise<string[]> {
  const section = readme.slice(readme.indexOf('## A tour'), readme.indexOf('## Commands'))
  const blocks = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? '')
  const script = blocks.map((block) => `${block}printf '${endOfBlock.replace('\n', '\\n')}'\n`).join('')
  if (script.split(address).length !== 2) throw new Error(`the tour names ${address} once`)
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script.replace(address, url)], {
    cwd: folder,
    env: { ...environment(), PATH: `${join(folder, 'bin')}:${environment().PATH}` },
  }).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`the tour broke off:\n${error.stdout}\n${error.stderr}`)
  })
  return stdout.split(endOfBlock).slice(0, -1)
}

const endOfBlock = '=== end of block ===\n'

// biome-ignore lint/suspicious/noExplicitAny: whatever jq printed
function jsonOf(text = ''): any[] {
  return JSON.parse(execFileSync(process.execPath, [jq, '-s', '.'], { input: text }).toString())
}

/** The cells of the table below a heading, without its head. */
function rows(markdown: string, heading: string): string[][] {
  const [, section = ''] = markdown.split(new RegExp(`^##+ ${heading}$`, 'm'))
  const lines = section.slice(0, section.search(/^##/m)).match(/^\|.*\|$/gm) ?? []
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
}

/** What the spec's own table of limits says of something. */
function told(description: string, what: string, pattern: RegExp): string {
  const row = rows(description, 'Limits').find(([name]) => name === what)
  return pattern.exec(row?.[1] ?? '')?.[0] ?? `${what} is not in the spec`
}

function numbers(text = ''): number[] {
  return (text.replaceAll(',', '').match(/\d+/g) ?? []).map(Number)
}

function size(bytes: number): string {
  return bytes >= 1_048_576 ? `${bytes / 1_048_576} MiB` : `${bytes / 1024} KiB`
}

function grouped(number: number): string {
  return number.toLocaleString('en')
}
