BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
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
COMMIT;
