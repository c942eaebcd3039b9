/** Compares the directory of cells with the folders of one cell, and changes nothing. */
import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { lexists, listNames } from '../../../gitstore/fs-exists.ts'
import { listPlaces, listPlacesOf } from '../../../index/credentials/places.ts'
import type { CredentialsDb, CredentialsSchema } from '../../../index/credentials/schema.ts'
import { connectPostgres } from '../../../index/postgres/database.ts'
import type { PostgresAddress } from '../../../index/postgres/pool.ts'
import { arrivingFolder, isId } from '../layout.ts'
import { damageFinding, type Finding } from './repository-findings.ts'

/** Organisations per SQL statement. */
const placesAtOnce = 500

/** @param cell the name of the data folder @throws system errors */
export async function examinePlaces(postgres: PostgresAddress, cell: string, root: string): Promise<Finding[]> {
  const db = await connectPostgres<CredentialsSchema>(postgres)
  try {
    const findings = [...(await examineFolders(db.read, cell, root)), ...(await examineRows(db.read, cell, root))]
    // A second pass drops findings that come from concurrent changes.
    const again = [...(await examineFolders(db.read, cell, root)), ...(await examineRows(db.read, cell, root))]
    return findings.filter((one) => again.some((other) => other.path === one.path && other.reason === one.reason))
  } finally {
    await db.close()
  }
}

async function examineFolders(db: CredentialsDb, cell: string, root: string): Promise<Finding[]> {
  const names = await readdir(root)
  const orgIds = names.filter(isId)
  const findings = names
    .filter((name) => name.startsWith('foreign-'))
    .map((path) => note(path, 'was set aside: another cell has it'))
  for (const orgId of (await listNames(arrivingFolder(root))).filter(isId))
    findings.push(
      note(relative(root, join(arrivingFolder(root), orgId)), 'was sent by another cell, and has not moved here'),
    )
  for (let at = 0; at < orgIds.length; at += placesAtOnce) {
    const some = orgIds.slice(at, at + placesAtOnce)
    const places = new Map((await listPlaces(db, some)).map((place) => [place.org_id, place]))
    for (const orgId of some) {
      const place = places.get(orgId)
      if (place === undefined) findings.push(note(orgId, 'has no place in the directory; the service will give it one'))
      else if (place.cell !== cell)
        findings.push(
          damageFinding('directory', orgId, `belongs to the cell ${place.cell}; the next start sets it aside`),
        )
    }
  }
  return findings
}

async function examineRows(db: CredentialsDb, cell: string, root: string): Promise<Finding[]> {
  const findings: Finding[] = []
  for (let beyond: string | undefined = ''; beyond !== undefined; ) {
    const places = await listPlacesOf(db, { cell, state: 'here', beyond, limit: placesAtOnce })
    for (const { org_id } of places)
      if (!lexists(join(root, org_id)))
        findings.push(damageFinding('directory', org_id, 'is missing, but the directory says that it is here'))
    beyond = places.length < placesAtOnce ? undefined : places.at(-1)?.org_id
  }
  return findings
}

function note(path: string, reason: string): Finding {
  return { kind: 'note', subject: 'directory', path, reason }
}
