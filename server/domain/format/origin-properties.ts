/** The properties in which an import records the place of a node. */
export const originProperties: readonly string[] = ['source_path', 'source_files', 'source_vault']
