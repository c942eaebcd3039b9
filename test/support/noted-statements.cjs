// Adds a line to the file in GROVE_CALLS for each SQL statement of this process: `sql`, its database, and its text.
const { appendFileSync } = require('node:fs')
const { basename } = require('node:path')
const { createRequire } = require('node:module')

// The release that index/sqlite/better-sqlite3.ts loads.
const release = Number(process.versions.napi) >= 10 ? 'better-sqlite3' : 'better-sqlite3-node20'
const Database = createRequire(`${process.cwd()}/`)(release)
const memory = new Database(':memory:')
const statements = Object.getPrototypeOf(memory.prepare('select 1'))
memory.close()

for (const method of ['run', 'get', 'all', 'iterate']) {
  const original = statements[method]
  statements[method] = function (...values) {
    const text = this.source.replace(/\s+/g, ' ').trim()
    appendFileSync(process.env.GROVE_CALLS, `sql ${basename(this.database.name, '.sqlite')} ${text}\n`)
    return Reflect.apply(original, this, values)
  }
}
