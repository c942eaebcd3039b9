/** Finds the repositories that should exist, by what a file of events says. Changes nothing. */
import { openToRead } from '../sqlite/backup.ts'

/** A repository. An organisation's own has the organisation's id. */
export interface ExpectedRepo {
  readonly org_id: string
  readonly node_id: string
}

/** A deletion without a user was found on the disk. A purge is in the audit. A log that moves to a cell is sealed. */
const expected = `with lost as materialized (
    select distinct org_id, coalesce(node_id, org_id) as id from event
    where type in ('node.deleted', 'org.deleted') and body ->> '$.data.actor' is null),
  purged as materialized (
    select distinct org_id, coalesce(node_id, org_id) as id from audit where action = 'trash.purged')
  select repo.org_id, repo.node_id from recorded_repo as repo join log on log.org_id = repo.org_id
  where log.sealed = 0 and (repo.gone = 0 or (repo.org_id, repo.node_id) in (select org_id, id from lost))
    and (repo.org_id, repo.node_id) not in (select org_id, id from purged)`

/**
 * Lists the repositories that nobody has deleted.
 *
 * @throws Error if the file cannot be read, or has no such tables
 */
export function listExpectedRepos(file: string): ExpectedRepo[] {
  const db = openToRead(file)
  try {
    return db.prepare(expected).all() as ExpectedRepo[] // the columns that it selects
  } finally {
    db.close()
  }
}
