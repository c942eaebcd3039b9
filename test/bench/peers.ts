/**
 * Programs that Grove is compared with, as Debian packages them: cgit under nginx and fcgiwrap, and nginx for files.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, connect as openSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds in which a peer must begin to listen. */
const patience = 10_000

const programs = {
  nginx: '/usr/sbin/nginx',
  fcgiwrap: '/usr/sbin/fcgiwrap',
  cgit: '/usr/lib/cgit/cgit.cgi',
}

/** The folder of Git's programs, which include git-http-backend. */
const gitPrograms = spawnSync('git', ['--exec-path']).stdout.toString().trim()

const packages = { nginx: 'nginx-light', fcgiwrap: 'fcgiwrap', cgit: 'cgit', wrk: 'wrk' }

export interface Peers {
  /** The URL of nginx. Undefined if it is not installed. */
  readonly nginx: string | undefined
  /** The same URL. Undefined if nginx, fcgiwrap or cgit is not installed. */
  readonly cgit: string | undefined
  /** The URL below which git-http-backend serves shared repositories. Undefined like `cgit`. */
  readonly backend: string | undefined
  /** A line for each program that is not installed. */
  readonly missing: readonly string[]
  /** Makes cgit show this repository below `/<name>/`. */
  show(name: string, repo: string): Promise<void>
  /** Makes git-http-backend serve this repository at `/git/<name>`. */
  share(name: string, repo: string): Promise<void>
  /** Makes nginx answer `/static/<name>` with these bytes, which are gzip of JSON. */
  serve(name: string, gzipped: Buffer): Promise<void>
  stop(): Promise<void>
}

export function commandExists(command: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$1"', 'sh', command]).status === 0
}

/** Starts the installed programs as the current user, on a free port of the loopback, in a temporary folder. */
export async function startPeers(): Promise<Peers> {
  const folder = await mkdtemp(join(tmpdir(), 'grove-peers-'))
  const files = join(folder, 'static')
  const shared = join(folder, 'git')
  await mkdir(files)
  await mkdir(shared)
  const absent = missingPrograms()
  const port = await freePort()
  const repos = new Map<string, string>()
  const children: ChildProcess[] = []
  const start = (command: string, args: readonly string[]) => {
    // A separate group, because otherwise fcgiwrap's children would outlive it.
    const child = spawn(command, args, { stdio: 'ignore', detached: true })
    children.push(child)
  }
  const stop = async () => {
    await Promise.all(children.map(stopGroup))
    await rm(folder, { recursive: true, force: true })
  }
  const hasNginx = !absent.includes('nginx')
  const hasCgit = hasNginx && !absent.includes('fcgiwrap') && !absent.includes('cgit')
  const hasBackend = hasNginx && !absent.includes('fcgiwrap')
  try {
    await writeFile(join(folder, 'cgitrc'), cgitConfig(repos))
    if (hasBackend) {
      start(programs.fcgiwrap, ['-c', '2', '-s', `unix:${join(folder, 'cgi.sock')}`])
      await waitFor(() => existsSync(join(folder, 'cgi.sock')), 'fcgiwrap')
    }
    if (hasNginx) {
      await writeFile(join(folder, 'nginx.conf'), nginxConfig(folder, port))
      start(programs.nginx, ['-e', join(folder, 'error.log'), '-c', join(folder, 'nginx.conf')])
      await waitFor(() => listens(port), 'nginx')
    }
  } catch (error) {
    await stop()
    throw error
  }
  const url = `http://127.0.0.1:${port}`
  return {
    nginx: hasNginx ? url : undefined,
    cgit: hasCgit ? url : undefined,
    backend: hasBackend ? `${url}/git` : undefined,
    missing: absent.map((name) => `missing: ${name} (apt-get install ${packages[name]})`),
    show: async (name, repo) => {
      repos.set(name, repo)
      await writeFile(join(folder, 'cgitrc'), cgitConfig(repos))
    },
    share: (name, repo) => symlink(repo, join(shared, name)),
    serve: (name, gzipped) => writeFile(join(files, name), gzipped),
    stop,
  }
}

function missingPrograms(): (keyof typeof packages)[] {
  const absent: (keyof typeof packages)[] = []
  if (!existsSync(programs.nginx)) absent.push('nginx')
  if (!existsSync(programs.fcgiwrap)) absent.push('fcgiwrap')
  if (!existsSync(programs.cgit)) absent.push('cgit')
  if (!commandExists('wrk')) absent.push('wrk')
  return absent
}

/** Turns off the cache, and makes pages as long as Grove's. */
function cgitConfig(repos: ReadonlyMap<string, string>): string {
  const each = [...repos].map(([name, path]) => `repo.url=${name}\nrepo.path=${path}\nrepo.defbranch=main\n`)
  return `cache-size=0\nmax-commit-count=50\nvirtual-root=/\n${each.join('')}`
}

function nginxConfig(folder: string, port: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join('\n  ')
  return `daemon off;
worker_processes 2;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid ${join(folder, 'nginx.pid')};
error_log ${join(folder, 'error.log')};
events { worker_connections 256; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  ${temporary}
  server {
    listen 127.0.0.1:${port};
    location /static/ {
      alias ${join(folder, 'static')}/;
      default_type application/json;
      add_header Content-Encoding gzip;
    }
    location /git/ {
      fastcgi_param SCRIPT_FILENAME ${join(gitPrograms, 'git-http-backend')};
      fastcgi_param GIT_PROJECT_ROOT ${folder};
      fastcgi_param GIT_HTTP_EXPORT_ALL 1;
      fastcgi_param PATH_INFO $uri;
      fastcgi_param QUERY_STRING $args;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_param HTTP_CONTENT_ENCODING $http_content_encoding;
      fastcgi_param HTTP_GIT_PROTOCOL $http_git_protocol;
      fastcgi_param REMOTE_ADDR $remote_addr;
      fastcgi_buffering off;
      fastcgi_pass unix:${join(folder, 'cgi.sock')};
    }
    location / {
      fastcgi_param SCRIPT_FILENAME ${programs.cgit};
      fastcgi_param CGIT_CONFIG ${join(folder, 'cgitrc')};
      fastcgi_param PATH_INFO $uri;
      fastcgi_param QUERY_STRING $args;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param HTTP_HOST $http_host;
      fastcgi_read_timeout 120s;
      fastcgi_pass unix:${join(folder, 'cgi.sock')};
    }
  }
}
`
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = openSocket(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

async function waitFor(isThere: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let waited = 0; waited < patience; waited += 50) {
    if (await isThere()) return
    await sleep(50)
  }
  throw new Error(`${what} did not start within ${patience} ms`)
}

async function stopGroup(child: ChildProcess): Promise<void> {
  const { pid } = child
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  process.kill(-pid, 'SIGTERM')
  await ended
}
