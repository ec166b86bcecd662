BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0002');
CREATE TABLE blobs (
	project_id INTEGER NOT NULL, 
	sha256 BLOB NOT NULL, 
	size BIGINT NOT NULL, 
	object_id INTEGER NOT NULL, 
	start BIGINT NOT NULL, 
	CONSTRAINT pk_blobs PRIMARY KEY (project_id, sha256)
)
 WITHOUT ROWID

;
CREATE TABLE chunks (
	project_id INTEGER NOT NULL, 
	id BLOB NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_chunks PRIMARY KEY (project_id, id)
);
CREATE TABLE directories (
	project_id INTEGER NOT NULL, 
	parent BLOB NOT NULL, 
	name VARCHAR(255) NOT NULL, 
	path TEXT NOT NULL, 
	CONSTRAINT pk_directories PRIMARY KEY (project_id, parent, name)
)
 WITHOUT ROWID

;
CREATE TABLE edges (
	project_id INTEGER NOT NULL, 
	source_id INTEGER NOT NULL, 
	target_id INTEGER NOT NULL, 
	action VARCHAR(16) NOT NULL, 
	job_id BIGINT, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_edges PRIMARY KEY (project_id, target_id, source_id), 
	CONSTRAINT ck_edges_acyclic CHECK (source_id < target_id), 
	CONSTRAINT fk_edges_project_id FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT fk_edges_source_id FOREIGN KEY(source_id) REFERENCES set_versions (id), 
	CONSTRAINT fk_edges_target_id FOREIGN KEY(target_id) REFERENCES set_versions (id)
)
 WITHOUT ROWID

;
CREATE TABLE file_versions (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	file_id INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	sha256 BLOB NOT NULL, 
	size BIGINT NOT NULL, 
	content_type VARCHAR(255), 
	user_id INTEGER NOT NULL, 
	created_at BIGINT NOT NULL, 
	upload_id INTEGER NOT NULL, 
	CONSTRAINT pk_file_versions PRIMARY KEY (id), 
	CONSTRAINT uq_file_versions_file_id_version UNIQUE (file_id, version)
);
CREATE TABLE files (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	parent BLOB NOT NULL, 
	name VARCHAR(255) NOT NULL, 
	path TEXT NOT NULL, 
	latest INTEGER NOT NULL, 
	hidden BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_files PRIMARY KEY (id), 
	CONSTRAINT uq_files_project_id_parent_name UNIQUE (project_id, parent, name)
);
CREATE TABLE job_inputs (
	project_id INTEGER NOT NULL, 
	job_id INTEGER NOT NULL, 
	set_version_id INTEGER NOT NULL, 
	CONSTRAINT pk_job_inputs PRIMARY KEY (job_id, set_version_id), 
	CONSTRAINT fk_job_inputs_job_id FOREIGN KEY(job_id) REFERENCES jobs (id), 
	CONSTRAINT fk_job_inputs_project_id FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT fk_job_inputs_set_version_id FOREIGN KEY(set_version_id) REFERENCES set_versions (id)
);
CREATE TABLE jobs (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	public_id VARCHAR(32) NOT NULL, 
	user_id INTEGER NOT NULL, 
	name VARCHAR(128), 
	status VARCHAR(16) NOT NULL, 
	command TEXT NOT NULL, 
	submitted_at BIGINT NOT NULL, 
	started_at BIGINT, 
	ended_at BIGINT, 
	runtime FLOAT, 
	queue_time FLOAT, 
	cost FLOAT, 
	cpu FLOAT, 
	memory BIGINT, 
	gpu FLOAT, 
	peak_memory BIGINT, 
	cpu_seconds FLOAT, 
	exit_code INTEGER, 
	CONSTRAINT pk_jobs PRIMARY KEY (id), 
	CONSTRAINT fk_jobs_project_id FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT fk_jobs_user_id FOREIGN KEY(user_id) REFERENCES users (id), 
	CONSTRAINT uq_jobs_public_id UNIQUE (public_id)
);
CREATE TABLE meta_columns (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	kind SMALLINT NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	type SMALLINT NOT NULL, 
	CONSTRAINT pk_meta_columns PRIMARY KEY (id), 
	CONSTRAINT fk_meta_columns_project_id FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT uq_meta_columns_project_id_kind_name_type UNIQUE (project_id, kind, name, type)
);
CREATE TABLE meta_numbers (
	column_id INTEGER NOT NULL, 
	value DOUBLE NOT NULL, 
	entity_id INTEGER NOT NULL, 
	CONSTRAINT pk_meta_numbers PRIMARY KEY (column_id, value, entity_id)
)
 WITHOUT ROWID

;
CREATE TABLE meta_tags (
	column_id INTEGER NOT NULL, 
	value VARCHAR(128) NOT NULL, 
	entity_id INTEGER NOT NULL, 
	CONSTRAINT pk_meta_tags PRIMARY KEY (column_id, value, entity_id)
)
 WITHOUT ROWID

;
CREATE TABLE meta_texts (
	column_id INTEGER NOT NULL, 
	value TEXT NOT NULL, 
	whole TEXT, 
	entity_id INTEGER NOT NULL, 
	CONSTRAINT pk_meta_texts PRIMARY KEY (column_id, value, entity_id)
)
 WITHOUT ROWID

;
CREATE TABLE objects (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	upload_id INTEGER NOT NULL, 
	"key" VARCHAR(255) NOT NULL, 
	size BIGINT NOT NULL, 
	sha256 BLOB NOT NULL, 
	multipart_id VARCHAR(1024), 
	part_size BIGINT, 
	stored BOOLEAN DEFAULT 0 NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_objects PRIMARY KEY (id), 
	CONSTRAINT fk_objects_project_id FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT fk_objects_upload_id FOREIGN KEY(upload_id) REFERENCES uploads (id), 
	CONSTRAINT uq_objects_key UNIQUE ("key")
);
CREATE TABLE platform (
	"key" VARCHAR(64) NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_platform PRIMARY KEY ("key")
);
INSERT INTO "platform" VALUES('started','2026-01-01T00:00:00+00:00');
CREATE TABLE projects (
	id INTEGER NOT NULL, 
	name VARCHAR(63) NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_projects PRIMARY KEY (id), 
	CONSTRAINT uq_projects_name UNIQUE (name)
);
INSERT INTO "projects" VALUES(1,'default',1767225600000000);
INSERT INTO "projects" VALUES(2,'vision',1767225600000001);
CREATE TABLE set_versions (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	set_id INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	root BLOB NOT NULL, 
	content BLOB NOT NULL, 
	file_count BIGINT NOT NULL, 
	size BIGINT NOT NULL, 
	first_path TEXT NOT NULL, 
	last_path TEXT NOT NULL, 
	user_id INTEGER NOT NULL, 
	job_id BIGINT, 
	created_at BIGINT NOT NULL, 
	removed_at BIGINT, 
	CONSTRAINT pk_set_versions PRIMARY KEY (id), 
	CONSTRAINT fk_set_versions_project_id FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT fk_set_versions_set_id FOREIGN KEY(set_id) REFERENCES sets (id), 
	CONSTRAINT fk_set_versions_user_id FOREIGN KEY(user_id) REFERENCES users (id), 
	CONSTRAINT uq_set_versions_set_id_version UNIQUE (set_id, version)
);
CREATE TABLE sets (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	latest INTEGER NOT NULL, 
	CONSTRAINT pk_sets PRIMARY KEY (id), 
	CONSTRAINT fk_sets_project_id FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT uq_sets_project_id_name UNIQUE (project_id, name)
);
CREATE TABLE staged_chunks (
	project_id INTEGER NOT NULL, 
	id BLOB NOT NULL, 
	staged_at BIGINT NOT NULL, 
	CONSTRAINT pk_staged_chunks PRIMARY KEY (project_id, id), 
	CONSTRAINT fk_staged_chunks_project_id FOREIGN KEY(project_id) REFERENCES projects (id)
)
 WITHOUT ROWID

;
CREATE TABLE tokens (
	id INTEGER NOT NULL, 
	lookup VARCHAR(16) NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	user_id INTEGER NOT NULL, 
	created_at BIGINT NOT NULL, 
	revoked_at BIGINT, 
	CONSTRAINT pk_tokens PRIMARY KEY (id), 
	CONSTRAINT uq_tokens_lookup UNIQUE (lookup), 
	CONSTRAINT fk_tokens_user_id FOREIGN KEY(user_id) REFERENCES users (id)
);
INSERT INTO "tokens" VALUES(1,'bcdfghjkmnpq','not-a-hash',2,1767225600000000,NULL);
CREATE TABLE upload_blobs (
	project_id INTEGER NOT NULL, 
	upload_id INTEGER NOT NULL, 
	sha256 BLOB NOT NULL, 
	size BIGINT NOT NULL, 
	object_id INTEGER NOT NULL, 
	start BIGINT NOT NULL, 
	CONSTRAINT pk_upload_blobs PRIMARY KEY (upload_id, sha256, object_id)
)
 WITHOUT ROWID

;
CREATE TABLE upload_files (
	project_id INTEGER NOT NULL, 
	upload_id INTEGER NOT NULL, 
	parent BLOB NOT NULL, 
	name VARCHAR(255) NOT NULL, 
	path TEXT NOT NULL, 
	sha256 BLOB NOT NULL, 
	size BIGINT NOT NULL, 
	content_type VARCHAR(255), 
	CONSTRAINT pk_upload_files PRIMARY KEY (upload_id, parent, name)
)
 WITHOUT ROWID

;
CREATE TABLE uploads (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	public_id VARCHAR(32) NOT NULL, 
	user_id INTEGER NOT NULL, 
	resume_key VARCHAR(128), 
	state VARCHAR(16) NOT NULL, 
	created_at BIGINT NOT NULL, 
	touched_at BIGINT NOT NULL, 
	ended_at BIGINT, 
	swept_at BIGINT, 
	file_count BIGINT NOT NULL, 
	size BIGINT NOT NULL, 
	made_after BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_uploads PRIMARY KEY (id), 
	CONSTRAINT fk_uploads_project_id FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT fk_uploads_user_id FOREIGN KEY(user_id) REFERENCES users (id), 
	CONSTRAINT uq_uploads_public_id UNIQUE (public_id)
);
CREATE TABLE users (
	id INTEGER NOT NULL, 
	public_id VARCHAR(32) NOT NULL, 
	project_id INTEGER, 
	name VARCHAR(63) NOT NULL, 
	role VARCHAR(16) NOT NULL, 
	created_at BIGINT NOT NULL, 
	removed_at BIGINT, 
	CONSTRAINT pk_users PRIMARY KEY (id), 
	CONSTRAINT ck_users_global_has_no_project CHECK ((role = 'global_admin') = (project_id IS NULL)), 
	CONSTRAINT uq_users_public_id UNIQUE (public_id), 
	CONSTRAINT fk_users_project_id FOREIGN KEY(project_id) REFERENCES projects (id)
);
INSERT INTO "users" VALUES(1,'user-2345',NULL,'admin','global_admin',1767225600000000,NULL);
INSERT INTO "users" VALUES(2,'user-6789',2,'dana','admin',1767225600000000,NULL);
CREATE UNIQUE INDEX uq_users_project_id_name ON users (project_id, name) WHERE removed_at IS NULL;
CREATE UNIQUE INDEX uq_users_global_admin ON users (role) WHERE role = 'global_admin';
CREATE INDEX ix_tokens_user_id ON tokens (user_id);
CREATE INDEX ix_blobs_object_id ON blobs (object_id);
CREATE INDEX ix_file_versions_project_id_created_at ON file_versions (project_id, created_at);
CREATE INDEX ix_file_versions_project_id_id ON file_versions (project_id, id);
CREATE INDEX ix_files_path ON files (project_id, path) WHERE hidden IS 0;
CREATE UNIQUE INDEX uq_meta_numbers_entity ON meta_numbers (entity_id, column_id);
CREATE INDEX ix_meta_tags_entity ON meta_tags (entity_id, column_id);
CREATE UNIQUE INDEX uq_meta_texts_entity ON meta_texts (entity_id, column_id);
CREATE INDEX ix_upload_blobs_object_id ON upload_blobs (object_id);
CREATE INDEX ix_jobs_project_id_id ON jobs (project_id, id);
CREATE INDEX ix_jobs_project_id_submitted_at ON jobs (project_id, submitted_at);
CREATE INDEX ix_set_versions_project_id_created_at ON set_versions (project_id, created_at);
CREATE INDEX ix_set_versions_project_id_id ON set_versions (project_id, id);
CREATE INDEX ix_uploads_unswept ON uploads (touched_at) WHERE swept_at IS NULL;
CREATE UNIQUE INDEX uq_uploads_resume ON uploads (project_id, user_id, resume_key) WHERE state = 'pending';
CREATE INDEX ix_edges_project_id_source_id ON edges (project_id, source_id);
CREATE INDEX ix_job_inputs_set_version_id ON job_inputs (set_version_id);
CREATE INDEX ix_objects_upload_id ON objects (upload_id);
COMMIT;
